"""One run: an optimiser with its number on a stream or a sequence of tasks, from a seed."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wane.experiments.lifelong import convex, nets
from wane.experiments.lifelong.methods import CONVEX, NETS, Method
from wane.experiments.lifelong.network import Network

HINDSIGHT = "hindsight"  # the method that knows the phase when it begins
POINTS = 40  # of a curve over the rounds


@dataclasses.dataclass(frozen=True)
class Job:
    """What a run depends on, besides the code; ``size`` is (rounds, phases), or that of ``nets.Size``."""

    kind: str
    data: str
    shift: str
    method: str
    number: float
    seed: int
    size: tuple[int, ...]


def play(job: Job) -> dict[str, Any]:
    """The numbers of a run, with torch on one core."""
    with single():
        return streamed(job) if job.kind == "convex" else trained(job)


@contextlib.contextmanager
def single() -> Iterator[None]:
    """One thread: the tensors are small, and the other core has another run."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Weights:
    """A vector that torch's optimisers move, with its gradient; numpy sees the same memory."""

    def __init__(self, method: Method, number: float, initial: np.ndarray) -> None:
        """Give the vector to the optimiser."""
        import torch

        tensor = torch.nn.Parameter(torch.from_numpy(initial.copy()))
        tensor.grad = torch.zeros_like(tensor)
        self.tensor, self.initial, self.pull = tensor, initial, method.pull
        self.gradient: np.ndarray = tensor.grad.numpy()
        self.optimizer = method.make([tensor], number)

    @property
    def values(self) -> np.ndarray:
        """The weights of now."""
        return self.tensor.detach().numpy()

    def step(self) -> bool:
        """Take a step; False where the gradient has left the floats."""
        if self.pull:
            self.gradient += self.pull * (self.values - self.initial)
        if not math.isfinite(float(np.sum(self.gradient))):
            return False
        self.optimizer.step()
        return True

    def scale(self) -> float:
        """The scale that was learned; 1 where none is."""
        return float(getattr(self.optimizer, "scale", 1.0))


def streamed(job: Job) -> dict[str, Any]:
    """The mean loss on a stream, and its curve; a round counts at most WORST times the loss of knowing nothing."""
    rounds, phases = job.size
    stream = convex.make(job.data, job.shift, job.seed, rounds, phases)
    if job.method == HINDSIGHT:
        return {"loss": stream.hindsight(), "ignorance": stream.ignorance, "diverged": False}
    worst = convex.WORST * stream.ignorance
    losses = np.full(rounds, worst)
    weights = Weights(CONVEX[job.method], job.number, np.zeros(stream.shape))
    ended = False
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(rounds):
            loss, weights.gradient[...] = stream.loss(t, weights.values)
            losses[t] = min(loss, worst) if math.isfinite(loss) else worst
            ended = not weights.step()
            if ended:
                losses[t:] = worst
                break
    curve = [float(part.mean()) for part in np.array_split(losses, min(POINTS, rounds))]
    return {"loss": float(losses.mean()), "curve": curve, "diverged": ended, "scale": weights.scale()}


def trained(job: Job) -> dict[str, Any]:
    """Of each task, the share that was right when it was seen first (online) and at the task's end, and the scale."""
    size = nets.Size(*job.size)
    method = NETS[job.method]
    net = Network((nets.PIXELS, size.hidden, size.hidden, nets.CLASSES))
    guess = 1.0 / nets.CLASSES
    online, end, scale = [], [], []
    weights, ended = Weights(method, job.number, net.initial(job.seed)), False
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for number, task in enumerate(nets.tasks(job.shift, job.seed, size)):
            if method.fresh and number:
                weights = Weights(method, job.number, net.initial(job.seed + 1000 * number))
            right = np.full(size.steps, guess)
            for step, batch in enumerate(task.batches):
                ended = ended and not method.fresh
                if ended:
                    break
                _, right[step] = net.loss(weights.values, weights.gradient, task.x[batch], task.y[batch])
                ended = not weights.step()
            online.append(float(right.mean()))
            end.append(guess if ended else net.right(weights.values, task.judged_x, task.judged_y))
            scale.append(weights.scale())
    return {"online": online, "end": end, "scale": scale, "diverged": ended}
