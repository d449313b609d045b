"""Reinforcement learning whose observations shift: a small PPO on gymnasium's CartPole and Acrobot.

As in the control experiments of Fast TRAC (Muppidi, Zhang, Yang 2024), a vector is added to all observations and
changes from time to time. Nobody is told, but for those who restart. PPO is that of Schulman and others (2017): clipped
ratios, generalised advantages, one network for the policy and one for the value.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from wane.errors import MissingExtraError, installing
from wane.experiments.lifelong.rivals import RIVALS, at_rest, at_work

WORLDS = {"CartPole": "CartPole-v1", "Acrobot": "Acrobot-v1"}
WORST = {"CartPole": 9.0, "Acrobot": -500.0}  # what a policy that is lost gets, about
DISTANCE = 2.0  # entries of the vector that is added are uniform in [-DISTANCE, DISTANCE]
DISCOUNT, LAMBDA, CLIP, ENTROPY, VALUE, NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5  # PPO's usual numbers


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is played: phases, rollouts in each, steps of a rollout, worlds side by side, epochs, parts, units."""

    phases: int = 5
    rollouts: int = 12
    steps: int = 64
    worlds: int = 8
    epochs: int = 4
    parts: int = 4
    hidden: int = 32


def gym() -> Any:
    """The package gymnasium."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise MissingExtraError("the worlds are those of gymnasium", cure=installing("rl")) from None
    return gymnasium


class Worlds:
    """Several copies of a world side by side, each of which begins anew when an episode ends."""

    def __init__(self, name: str, count: int, seed: int) -> None:
        """Begin everywhere."""
        self.all = [gym().make(WORLDS[name]) for _ in range(count)]
        self.seen = np.array([world.reset(seed=1000 * seed + i)[0] for i, world in enumerate(self.all)], np.float32)
        self.returns = np.zeros(count)
        self.finished: list[float] = []

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards, and where an episode ended."""
        rewards, ends = np.zeros(len(self.all), np.float32), np.zeros(len(self.all), np.float32)
        for i, world in enumerate(self.all):
            self.seen[i], rewards[i], done, cut, _ = world.step(int(actions[i]))
            self.returns[i] += rewards[i]
            if done or cut:
                self.finished.append(float(self.returns[i]))
                self.returns[i], ends[i], self.seen[i] = 0.0, 1.0, world.reset()[0]
        return rewards, ends


def networks(inputs: int, actions: int, hidden: int) -> Any:
    """The policy and the value, both of two layers with tanh."""
    import torch
    from torch.nn import Linear, Sequential, Tanh

    def layers(outputs: int) -> Any:
        return Sequential(Linear(inputs, hidden), Tanh(), Linear(hidden, hidden), Tanh(), Linear(hidden, outputs))

    return torch.nn.ModuleList([layers(actions), layers(1)])


def advantages(rewards: Any, ends: Any, values: Any, last: Any) -> Any:
    """Generalised advantages (Schulman and others 2016), of arrays (steps, worlds).

    >>> import torch
    >>> one = torch.ones(1, 1)
    >>> float(advantages(one, 0 * one, 0 * one, one[0]))    # the reward, and the discounted value of what follows
    1.9900000095367432
    """
    import torch

    found, total = torch.zeros_like(rewards), torch.zeros_like(last)
    for t in range(len(rewards) - 1, -1, -1):
        alive, after = 1.0 - ends[t], values[t + 1] if t + 1 < len(rewards) else last
        total = rewards[t] + DISCOUNT * alive * after - values[t] + DISCOUNT * LAMBDA * alive * total
        found[t] = total
    return found


def loss_of(nets: Any, seen: Any, actions: Any, before: Any, gains: Any, targets: Any) -> Any:
    """PPO's loss of a part of a rollout."""
    import torch

    chances = torch.log_softmax(nets[0](seen), dim=1)
    ratio = (chances.gather(1, actions[:, None])[:, 0] - before).exp()
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    policy = torch.minimum(ratio * gains, ratio.clamp(1.0 - CLIP, 1.0 + CLIP) * gains).mean()
    entropy = -(chances.exp() * chances).sum(dim=1).mean()
    return VALUE * (nets[1](seen)[:, 0] - targets).square().mean() - policy - ENTROPY * entropy


def rollout(nets: Any, worlds: Worlds, offset: np.ndarray, steps: int, generator: Any) -> list[Any]:
    """What was seen and done in some steps of all worlds, with log-probabilities, advantages and targets, flat."""
    import torch

    rows: list[list[Any]] = [[], [], [], [], [], []]
    with torch.no_grad():
        for _ in range(steps):
            seen = torch.from_numpy(worlds.seen + offset)
            chances = torch.log_softmax(nets[0](seen), dim=1)
            actions = torch.multinomial(chances.exp(), 1, generator=generator)
            rewards, ends = worlds.step(actions[:, 0].numpy())
            values = (chances.gather(1, actions)[:, 0], nets[1](seen)[:, 0])
            for row, value in zip(
                rows, (seen, actions[:, 0], *values, torch.from_numpy(rewards), torch.from_numpy(ends)), strict=True
            ):
                row.append(value)
        seen, actions, before, values, rewards, ends = (torch.stack(row) for row in rows)
        gains = advantages(rewards, ends, values, nets[1](torch.from_numpy(worlds.seen + offset))[:, 0])
    return [x.flatten(0, 1) for x in (seen, actions, before, gains, gains + values)]


def play(world: str, method: str, number: float, seed: int, size: Size) -> dict[str, Any]:
    """The mean return of the episodes that ended in each phase."""
    import torch

    rival, rng = RIVALS[method], np.random.default_rng([seed, 50])
    generator = torch.Generator().manual_seed(seed)
    worlds = Worlds(world, size.worlds, seed)
    inputs, actions = worlds.seen.shape[1], int(worlds.all[0].action_space.n)

    def begin(turn: int) -> tuple[Any, Any]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + 1000 * turn)
            nets = networks(inputs, actions, size.hidden)
        return nets, rival.make(list(nets.parameters()), number)

    nets, optimizer = begin(0)
    returns, lost = [], False
    for phase in range(size.phases):
        offset = np.asarray(rng.uniform(-DISTANCE, DISTANCE, size=inputs) * (phase > 0), dtype=np.float32)
        if rival.restarts and phase:
            (nets, optimizer), lost = begin(phase), False
        worlds.finished = []
        for _ in range(size.rollouts):
            if lost:
                break
            at_rest(optimizer)
            data = rollout(nets, worlds, offset, size.steps, generator)
            at_work(optimizer)
            lost = not improved(nets, optimizer, data, size, generator)
        returns.append(WORST[world] if lost or not worlds.finished else float(np.mean(worlds.finished)))
    return {"score": float(np.mean(returns)), "last": returns[-1], "returns": returns}


def improved(nets: Any, optimizer: Any, data: list[Any], size: Size, generator: Any) -> bool:
    """Let the optimiser learn a rollout; False where the loss or the weights have left the floats."""
    import torch

    params = list(nets.parameters())
    for _ in range(size.epochs):
        for part in torch.randperm(len(data[0]), generator=generator).chunk(size.parts):
            for p in params:
                p.grad = None
            loss = loss_of(nets, *(x[part] for x in data))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(params, NORM)
            if not (math.isfinite(loss.item()) and math.isfinite(norm.item())):
                return False
            optimizer.step()
    return all(bool(p.isfinite().all()) for p in params)
