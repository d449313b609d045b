# Each target works alone on a fresh machine: it makes the virtual environment, installs, builds and runs.
#   make demo    the paper's Table 1 and Figure 1 on bundled data, into demo/
#   make test    lint; the full test suite on the compiled package, then the compiled modules again as plain Python
#   make lint    style, types, the direction of imports
#   make test-old-cpu   what depends on rounding, with the loops of NumPy and OpenBLAS for older processors; part of make test
#   make test-libraries   the examples with other forecasting libraries, which it installs
#   make test-bounds   what loops over arrays, compiled with a check of every index, in build-bounds/
#   make test-cluster  the tests of Spark and Ray, which it installs; Spark needs Java, which root gets from Debian
#   make torture kills, cuts, full disks, hostile states and more, EACH=60 seconds each; SEED=n repeats a campaign
#   make bench   speed, as ratios within one run
#   make peers   other packages beside wane on the same rounds; it installs them, and refreshes their tables
#   make docs    the documentation, to docs/_build/html
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
HAVE_CC := $(shell command -v $(CC))

.PHONY: demo test test-old-cpu test-bounds test-cluster test-spark test-libraries lint build torture bench peers docs dist clean
demo: build
	$(BIN)/wane reproduce table1 fig1 --data digits --out demo

# Tests run in a worker for each processor. A matrix library that starts a thread for each one as well makes them wait:
# the slowest test of the suite takes a sixth of the time with one thread.
test test-old-cpu test-bounds test-cluster test-spark: export OMP_NUM_THREADS = 1
UNCOMPILED := WANE_PURE=1 PYTHONPATH=src
test: lint build
ifneq ($(HAVE_CC),)
	$(BIN)/python -m pytest -n auto --dist loadfile
	$(UNCOMPILED) $(BIN)/python -m pytest -n auto --dist loadfile -m "not once"
else
	$(UNCOMPILED) $(BIN)/python -m pytest -n auto --dist loadfile
endif
	$(MAKE) test-old-cpu

# The digits, the experiments on them, and the pages that quote numbers: matrix libraries add in another order there.
OLD_CPU := $(foreach name,digits experiments streams corruption,tests/test_$(name).py) \
	$(foreach page,README classification sklearn streams torch,"tests/test_docs.py::test_snippets_run[$(page)]")
test-old-cpu: $(VENV)/ready build
	$(if $(HAVE_CC),,$(UNCOMPILED)) $(BIN)/python tools/old_cpu.py $(BIN)/python -m pytest -n auto --dist loadfile $(OLD_CPU)

# Compiled loops read and write without checks where that was measured to pay. Here an index beyond its array is an
# error, and one in code that cannot raise is a warning that pytest turns into one. The normal build is not touched.
BOUNDS := $(foreach name,contract trackers control_trackers quantile_trackers order_statistics flat auto histogram panel \
	panel_rows panel_warm_up pool pool_ticks groups grouped panel_groups group_tables conformal_groups conformal_radii \
	conformal_replays conformal_state horizons monitor multiscale saving,tests/test_$(name).py)
test-bounds: $(VENV)/ready
	rm -rf build-bounds/source/src build-bounds/site && mkdir -p build-bounds/source
	cp -rp setup.py pyproject.toml README.md LICENSE src build-bounds/source/
	WANE_BOUNDS=1 WANE_REQUIRE_COMPILED=1 $(BIN)/pip install -q --no-deps --no-build-isolation --target build-bounds/site ./build-bounds/source
	PYTHONPATH=build-bounds/site $(BIN)/python -m pytest -n auto --dist loadfile $(BOUNDS)
	PYTHONPATH=build-bounds/site $(BIN)/python tools/torture/hostile_states.py --seconds 60

# Spark and Ray are large, so that make test does without them. Each has processes of its own: one test at a time.
test-cluster: test-spark $(VENV)/ray
	$(MAKE) build
	WANE_CLUSTER=1 $(BIN)/python -m pytest -n 0 tests/test_cluster_ray.py
test-spark: $(VENV)/spark
	sh tools/java.sh
	$(MAKE) build
	WANE_CLUSTER=1 $(BIN)/python -m pytest -n 0 tests/test_cluster_spark.py tests/test_cluster_stream.py

# The examples with StatsForecast, MLForecast, skforecast, scikit-learn and PyTorch, in an environment of their own:
# these libraries want older versions of others.
test-libraries:
	$(PYTHON) -m venv .venv-libraries
	.venv-libraries/bin/pip install -q --disable-pip-version-check torch==2.13.0 pytest hypothesis .[frames,libraries]
	.venv-libraries/bin/python -m pytest -q -p no:cacheprovider --noconftest tests/test_libraries.py

lint: $(VENV)/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

EACH ?= 60
torture: $(VENV)/ready build
	$(BIN)/python tools/torture/run.py --seconds $(EACH) $(if $(SEED),--seed $(SEED))

bench: $(VENV)/ready build
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/trackers.py
	$(BIN)/python benchmarks/conformal.py
	$(BIN)/python benchmarks/panel.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/optimisers.py
	$(BIN)/python benchmarks/optimisers_jax.py

peers: $(VENV)/peers
	$(MAKE) build
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/peers.py --write

docs: $(VENV)/ready
	PYTHONPATH=src $(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

dist: $(VENV)/ready
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# Compiled lives in the environment, never in src/: nothing can shadow a .py that was edited.
# Another setup.py starts from nothing; a file that is edited, added or removed compiles itself and what depends on it.
build: $(VENV)/basic build/settings
	WANE_REQUIRE_COMPILED=$(HAVE_CC) $(BIN)/pip install -q --no-deps --no-build-isolation .

# What the demo needs; the tests need torch and jax too, which are large.
$(VENV)/basic: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e .[cli,plot,data] "cython>=3.1" "setuptools>=77"
	touch $@

$(VENV)/ready: $(VENV)/basic
	$(BIN)/pip install -q --disable-pip-version-check -e .[dev]
	touch $@

$(VENV)/spark $(VENV)/ray: $(VENV)/ready
	$(BIN)/pip install -q --disable-pip-version-check -e .[$(notdir $@)]
	touch $@

$(VENV)/peers: $(VENV)/ready
	$(BIN)/pip install -q --disable-pip-version-check -e .[peers]
	touch $@

build/settings: setup.py
	rm -rf build && mkdir build && touch $@

clean:
	rm -rf build build-bounds dist docs/_build $(VENV)
