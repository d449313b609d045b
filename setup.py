"""Compile every module that has a .pxd beside it; a machine without a C compiler gets the same files uncompiled.

WANE_PURE=1 compiles nothing; WANE_REQUIRE_COMPILED=1 makes a failure to compile an error. WANE_BOUNDS=1 compiles every
index with a check of its bounds, also in the files that say "boundscheck=False" because they were measured to need it.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-g0", "-ffp-contract=off"]  # off: no FMA, the same bits
SHARED = "wane._cyutility"  # Cython's own code for memory views, once instead of in each module: seconds of gcc apiece


BOUNDS = bool(os.environ.get("WANE_BOUNDS"))


def sources_to_compile():
    """The folder of sources: src/, or a copy in which no file turns the checks of bounds off."""
    if not BOUNDS:
        return Path("src")
    copy = Path("build/src-bounds")
    for f in [*copy.rglob("*.py"), *copy.rglob("*.pxd")]:
        if not Path("src", f.relative_to(copy)).exists():
            f.unlink()
    for f in [*Path("src").rglob("*.py"), *Path("src").rglob("*.pxd")]:
        to, text = copy / f.relative_to("src"), f.read_text().replace("boundscheck=False", "boundscheck=True")
        if not to.exists() or to.read_text() != text:  # what has not changed is not compiled again
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(text)
    return copy


def extensions():
    src = sources_to_compile()
    files = sorted(src.rglob("*.pxd"))
    names = [".".join(f.relative_to(src).with_suffix("").parts) for f in files]
    sources = dict(zip(names, (str(f.with_suffix(".py")) for f in files), strict=True))
    sources[SHARED] = "build/c/_cyutility.c"
    return [Extension(name, [source], extra_compile_args=FLAGS) for name, source in sources.items()]


def touch_changes():
    """Changes are found by content, because a changed file may have an older date: it gets a new one."""
    known, contents = Path("build/contents.json"), {}
    before = json.loads(known.read_text()) if known.exists() else {}
    for f in sorted([*Path("src").rglob("*.py"), *Path("src").rglob("*.pxd")]):
        contents[str(f)] = hashlib.sha256(f.read_bytes()).hexdigest()
        if contents[str(f)] != before.get(str(f)):
            f.touch()
    known.parent.mkdir(exist_ok=True)
    known.write_text(json.dumps(contents))


def forget_removed():
    """Delete from what was built before whatever has no source any more: it would be installed once again."""
    for package in Path("build").glob("lib*/wane"):
        for f in [f for f in package.rglob("*") if f.is_file()]:
            source, stem = Path("src", f.relative_to(package.parent)), f.name.split(".")[0]
            if f.suffix in (".so", ".pyd"):
                source = source.with_name(f"{stem}.pxd")
            if not source.exists() and not SHARED.endswith(f".{stem}"):
                f.unlink()


class AllOrNothing(build_ext):
    """A compiled subclass of an uncompiled base does not import, so one failure drops every extension."""

    def run(self):
        try:
            self.translate()
            super().run()
        except Exception as error:
            if os.environ.get("WANE_REQUIRE_COMPILED"):
                raise
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []
            self.warn(f"cannot compile ({error}): wane is installed uncompiled, same results, 10-50 times slower")

    def translate(self):
        """From Python to C."""
        from Cython.Build import cythonize

        translated = cythonize(
            extensions(),
            build_dir="build/c",
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count() or 1,
            compiler_directives={  # nothing unsafe by default: bounds and division stay Python's, for 1-4 ns a round
                "language_level": "3",
                "annotation_typing": False,  # the .pxd is the only place of C types
                "autotestdict": False,  # a doctest runs once
                "nonecheck": True,  # a typed attribute that is None: an AttributeError, not a segmentation fault
            },
        )
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:
            extension.sources = sources[extension.name]


# An editable install stays uncompiled: src/ never holds a .so that shadows a newer .py.
touch_changes()
forget_removed()
pure = "editable_wheel" in sys.argv or os.environ.get("WANE_PURE")
setup(
    ext_modules=[] if pure else extensions(),
    cmdclass={"build_ext": AllOrNothing},
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
