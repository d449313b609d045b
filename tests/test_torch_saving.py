"""What the torch optimisers save: resuming equals never stopping, here, in copies and in another process."""

import copy
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter
from torch_cases import OPTIMISERS, adam, every, halves, parameters, plain, play, same, saved, values


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_resuming_equals_never_stopping(make, dtype):
    params = parameters(dtype)
    optimizer = make(halves(params))
    play(optimizer, params, range(20))
    others = [Parameter(p.detach().clone()) for p in params]
    other = make(halves(others))
    other.load_state_dict(saved(optimizer))
    assert plain(other.state_dict()) == plain(optimizer.state_dict())
    play(optimizer, params, range(20, 40))
    play(other, others, range(20, 40))
    assert same(params, others) and other.scale == optimizer.scale
    assert plain(other.state_dict()) == plain(optimizer.state_dict())
    assert max([optimizer.scale] if isinstance(optimizer.scale, float) else optimizer.scale) > 0.0


@every
def test_what_has_not_begun_is_saved_as_such(make):
    """A state to read a distributed checkpoint into has the entries of the base, which has made none yet."""
    params = parameters()
    optimizer = make(halves(params))
    state = optimizer.state_dict()
    others = [Parameter(p.detach().clone()) for p in params]
    other = make(halves(others))
    other.load_state_dict(saved(optimizer))
    play(optimizer, params, range(10))
    assert set(state["state"][0]) == set(optimizer.state_dict()["state"][0])
    play(other, others, range(10))
    assert same(params, others)


@every
def test_a_state_without_what_the_base_remembers_is_refused(make):
    params = parameters()
    optimizer = make(halves(params))
    play(optimizer, params, range(3))
    state = optimizer.state_dict()
    bare = {i: {k: v for k, v in s.items() if not k.startswith("base_")} for i, s in state["state"].items()}
    if any(len(s) > len(bare[i]) for i, s in state["state"].items()):
        with pytest.raises(ValueError, match="lacks what the base remembers"):
            optimizer.load_state_dict({**state, "state": bare})
    with pytest.raises(ValueError, match="lacks the state of the parameter 0"):
        optimizer.load_state_dict({**state, "state": {i: s for i, s in state["state"].items() if i}})


@every
def test_two_runs_are_one(make):
    runs = []
    for _ in range(2):
        params = parameters()
        play(make(halves(params)), params, range(25))
        runs.append(params)
    assert same(*runs)


@every
def test_what_is_loaded_is_not_shared(make):
    params, others = parameters(), parameters()
    optimizer, other = make(halves(params)), make(halves(others))
    play(optimizer, params, range(5))
    state = optimizer.state_dict()
    other.load_state_dict(state)
    before = plain(optimizer.state_dict())
    play(other, others, range(5, 10))
    assert plain(optimizer.state_dict()) == before


CHILD = """
import sys, torch
sys.path.insert(0, {tests!r})
import torch_cases as t
params = [torch.nn.Parameter(p) for p in torch.load({file!r}, weights_only=True)["params"]]
optimizer = t.OPTIMISERS[{name!r}](t.halves(params))
optimizer.load_state_dict(torch.load({file!r}, weights_only=True)["optimizer"])
t.play(optimizer, params, range(20, 30))
torch.save(t.values(params), {file!r})
"""


@pytest.mark.parametrize("name", ["adaptive by group", "adam"])
def test_another_process_goes_on(name, tmp_path):
    params, file = parameters(), str(tmp_path / "state.pt")
    optimizer = OPTIMISERS[name](halves(params))
    play(optimizer, params, range(20))
    torch.save({"params": values(params), "optimizer": optimizer.state_dict()}, file)
    code = CHILD.format(tests=str(__file__).rsplit("/", 1)[0], file=file, name=name)
    subprocess.run([sys.executable, "-c", code], check=True)
    play(optimizer, params, range(20, 30))
    assert same(params, torch.load(file, weights_only=True))


@every
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_go_on_alike(make, copied):
    params = parameters()
    optimizer = make(halves(params))
    torch.optim.lr_scheduler.ConstantLR(getattr(optimizer, "base", optimizer)) if "lr" in optimizer.defaults else None
    play(optimizer, params, range(20))
    others, other = copied((params, optimizer))
    assert repr(other) == repr(optimizer)
    play(optimizer, params, range(20, 30))
    play(other, others, range(20, 30))
    assert same(params, others)
    assert plain(other.state_dict()) == plain(optimizer.state_dict())


@pytest.mark.parametrize("kind", ["adam", "adaptive"])
def test_a_foreign_state_is_refused(kind):
    params = parameters()
    optimizer = OPTIMISERS[kind](params)
    play(optimizer, params, range(3))
    before = plain(optimizer.state_dict())
    for state in (
        adam(parameters()).state_dict(),
        OPTIMISERS["adam" if kind == "adaptive" else "adaptive"](params).state_dict(),
    ):
        with pytest.raises(ValueError, match="state_dict must be what state_dict"):
            optimizer.load_state_dict(state)
    with pytest.raises(ValueError, match=r"shapes \[\(3,\)\], got parameters of \[\(4, 3\)"):
        optimizer.load_state_dict(OPTIMISERS[kind]([Parameter(torch.ones(3))]).state_dict())
    assert plain(optimizer.state_dict()) == before
