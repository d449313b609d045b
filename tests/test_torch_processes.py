"""The torch optimisers in two processes: each holds a part of the parameters, and both learn what one would learn."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("torch")
import torch
from torch import distributed as dist
from torch.distributed import checkpoint

from wane.integrations.torch import Adaptive, Tuned

if not dist.is_available() or not hasattr(dist, "fsdp") or not hasattr(dist.fsdp, "fully_shard"):
    pytest.skip("this torch has no fully_shard", allow_module_level=True)
PROCESSES, ROUNDS = 2, 20


def test_two_processes(tmp_path):
    """All of this file's checks, in two processes that talk through gloo; torch takes seconds to start."""
    command = [sys.executable, "-W", "error::RuntimeWarning", __file__, str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen([*command, str(i)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for i in range(PROCESSES)
    ]
    try:
        said = [rank.communicate(timeout=300) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, (out, err) in zip(ranks, said, strict=True):
        assert rank.returncode == 0, err
        assert out.split() == [check.__name__ for check in CHECKS]


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))  # no even parts


def train(net, optimizer, rounds):
    """Every process sees all data, so that the mean of their gradients is the gradient of one."""
    for t in rounds:
        generator = torch.Generator().manual_seed(t)
        x = torch.randn(16, 5, generator=generator)
        optimizer.zero_grad()
        (net(x) - x[:, :3] ** 2).square().mean().backward()
        optimizer.step()


def adam(params, **settings):
    return Tuned(torch.optim.AdamW(params, lr=0.01), **settings)


MAKERS = {"tuned": adam, "adaptive": Adaptive}


def alone(make, rounds=ROUNDS):
    net = model()
    optimizer = make(net.parameters())
    train(net, optimizer, range(rounds))
    assert optimizer.scale > 0.01
    return net, optimizer


def assert_alike(net, optimizer, make):
    """The whole parameters and the scale are those of one process, but for the order of sums."""
    wanted, other = alone(make)
    assert abs(optimizer.scale / other.scale - 1.0) < 1e-3
    for name, p in net.items():
        torch.testing.assert_close(p, wanted.state_dict()[name], rtol=1e-3, atol=1e-4)


def whole(net):
    """The parameters of a sharded network."""
    return {name: p.full_tensor() if hasattr(p, "full_tensor") else p for name, p in net.state_dict().items()}


def sharded(make):
    net = model()
    dist.fsdp.fully_shard(net[0])
    dist.fsdp.fully_shard(net)
    return net, make(net.parameters())


def fully_shard_plays_one_game(folder):
    for make in MAKERS.values():
        net, optimizer = sharded(make)
        train(net, optimizer, range(ROUNDS))
        assert_alike(whole(net), optimizer, make)
        scales = [None] * PROCESSES
        dist.all_gather_object(scales, optimizer.scale)
        assert len(set(scales)) == 1  # to the last bit


def checkpoints_hold_everything(folder):
    """Through torch.distributed.checkpoint: what is read into fresh optimisers goes on to the last bit."""
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    for kind, make in MAKERS.items():
        net, optimizer = sharded(make)
        train(net, optimizer, range(ROUNDS))
        saved = dict(zip(("model", "optimizer"), get_state_dict(net, optimizer), strict=True))
        checkpoint.save(saved, checkpoint_id=folder / f"sharded {kind}")
        again, other = sharded(make)
        found = dict(zip(("model", "optimizer"), get_state_dict(again, other), strict=True))
        checkpoint.load(found, checkpoint_id=folder / f"sharded {kind}")
        set_state_dict(again, other, model_state_dict=found["model"], optim_state_dict=found["optimizer"])
        assert other.scale == optimizer.scale > 0.0
        for one, two in ((net, optimizer), (again, other)):
            train(one, two, range(ROUNDS, ROUNDS + 5))
        for p, q in zip(whole(net).values(), whole(again).values(), strict=True):
            assert torch.equal(p, q)
        assert other.scale == optimizer.scale


def flat_parameters_are_refused_or_summed(folder):
    """FSDP1 does not say that its parameters are parts; told of the processes, it plays the same game."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        for make in MAKERS.values():
            net = dist.fsdp.FullyShardedDataParallel(model(), device_id=torch.device("cpu"), use_orig_params=True)
            with pytest.raises(ValueError, match=r"parts that FullyShardedDataParallel gave .* give processes="):
                make(net.parameters())
            optimizer = make(net.parameters(), processes=dist.group.WORLD)
            train(net, optimizer, range(ROUNDS))
            with dist.fsdp.FullyShardedDataParallel.summon_full_params(net):
                named = {name.replace("_fsdp_wrapped_module.", ""): p for name, p in net.named_parameters()}
                assert_alike(named, optimizer, make)


def zero_redundancy_is_refused_or_summed(folder):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = torch.nn.parallel.DistributedDataParallel(model())
    with pytest.raises(ValueError, match=r"parts that ZeroRedundancyOptimizer gave .* give processes="):
        ZeroRedundancyOptimizer(net.parameters(), Adaptive)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), Adaptive, processes=dist.group.WORLD)
    train(net, optimizer, range(ROUNDS))
    assert_alike(net.module.state_dict(), optimizer.optim, Adaptive)

    net = torch.nn.parallel.DistributedDataParallel(model())
    optimizer = Tuned(ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=0.01))
    train(net, optimizer, range(ROUNDS))
    assert_alike(net.module.state_dict(), optimizer, adam)


def all_processes_refuse_a_round(folder):
    """One of them has a gradient that is not finite: nobody learns, and nobody waits for the others."""
    for make in MAKERS.values():
        p = torch.nn.Parameter(torch.ones(3))
        optimizer = make([p], processes=dist.group.WORLD, nonfinite="skip")
        for bad in (False, True, False):
            p.grad = torch.full((3,), float("nan") if bad and dist.get_rank() == 1 else -1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                optimizer.step()
        assert optimizer.skipped == 1
        p.grad = None if dist.get_rank() == 1 else torch.ones(3)  # a process may have nothing to say
        optimizer.step()


CHECKS = (
    fully_shard_plays_one_game,
    checkpoints_hold_everything,
    flat_parameters_are_refused_or_summed,
    zero_redundancy_is_refused_or_summed,
    all_processes_refuse_a_round,
)

if __name__ == "__main__":
    place, number = Path(sys.argv[1]), int(sys.argv[2])
    dist.init_process_group("gloo", init_method=f"file://{place}/meeting", rank=number, world_size=PROCESSES)
    for check in CHECKS:
        check(place)
        print(check.__name__, flush=True)
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)  # torch's own threads may abort while the interpreter is taken down
