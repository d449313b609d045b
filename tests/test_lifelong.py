"""The experiment on lifelong learning: its data, its gradients, its arithmetic, its command."""

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from wane.experiments import parallel  # noqa: E402
from wane.experiments.lifelong import convex, cost, data, jobs, judge, methods, nets, play, tables  # noqa: E402
from wane.experiments.lifelong.network import Network  # noqa: E402

TINY = nets.Size(tasks=3, steps=5, batch=4, hidden=6)


@pytest.mark.parametrize("name", ["digits", "wine", "breast_cancer", "diabetes"])
def test_tables_are_standardised(name):
    x, y, classes = data.table(name)
    assert len(x) == len(y) and np.isfinite(x).all()
    if name == "digits":
        assert x.min() == 0.0 and x.max() == 1.0
    else:
        np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(x.std(axis=0), 1.0)
    assert set(np.unique(y)) == set(range(classes)) if classes else abs(y.mean()) < 1e-12


@pytest.mark.parametrize("shift", convex.SHIFTS)
@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_gradients_of_the_streams(name, shift):
    stream = convex.make(name, shift, 0, 20, 2)
    w = np.random.default_rng(0).normal(size=stream.shape)
    for t in (0, 13):

        def loss(flat, t=t):
            return stream.loss(t, flat.reshape(stream.shape))[0]

        def gradient(flat, t=t):
            return stream.loss(t, flat.reshape(stream.shape))[1].ravel()

        assert check_grad(loss, gradient, w.ravel()) < 1e-5


def test_gradient_of_the_network_is_that_of_torch():
    net = Network((5, 7, 6, 3))
    rng = np.random.default_rng(0)
    vector = net.initial(0).astype(np.float64)
    vector += 0.1 * rng.normal(size=vector.shape)
    x, y = rng.normal(size=(8, 5)), rng.integers(3, size=8)
    gradient = np.empty_like(vector)
    loss, right = net.loss(vector, gradient, x, y)
    theta = torch.tensor(vector, requires_grad=True)
    out, start = torch.from_numpy(x), 0
    for i, (a, b) in enumerate(((5, 7), (7, 6), (6, 3))):
        out = out @ theta[start : start + a * b].reshape(a, b) + theta[start + a * b : start + (a + 1) * b]
        out = out if i == 2 else out.relu()
        start += (a + 1) * b
    wanted = torch.nn.functional.cross_entropy(out, torch.from_numpy(y))
    wanted.backward()
    assert start == net.size and loss == pytest.approx(wanted.item(), rel=1e-12)
    np.testing.assert_allclose(gradient, theta.grad.numpy(), atol=1e-14)
    assert right == net.right(vector, x, y) == float((out.argmax(1).numpy() == y).mean())


def test_an_abrupt_shift_renames_the_classes_and_keeps_the_examples():
    found = data.table("wine")
    stream = convex.make("wine", "abrupt", 3, 2 * len(found.y), 2)
    names = []
    for phase in stream.phases():
        assert len({tuple(row) for row in stream.x[phase]}) == len(found.y)  # each example once
        lookup = {tuple(x): label for x, label in zip(found.x, found.y, strict=True)}
        was = np.array([lookup[tuple(row[:-1])] for row in stream.x[phase]])
        pairs = set(zip(was.tolist(), stream.y[phase].tolist(), strict=True))
        assert len(pairs) == 3 == len({a for a, _ in pairs}) == len({b for _, b in pairs})  # a permutation
        names.append(pairs)
    assert names[0] != names[1]


def test_a_gradual_shift_turns_the_inputs_without_stretching_them():
    found = data.table("diabetes")
    stream = convex.make("diabetes", "gradual", 0, 400, 2)
    still = convex.make("diabetes", "abrupt", 0, 400, 2)  # the same order, other signs
    np.testing.assert_allclose(np.linalg.norm(stream.x, axis=1), np.linalg.norm(still.x, axis=1))
    np.testing.assert_allclose(stream.x[0, :-1], found.x[np.argmin(np.abs(found.x - stream.x[0, :-1]).sum(1))])
    same = np.abs(np.abs(stream.x) - np.abs(still.x)).max(axis=1)
    assert same[0] < 1e-12 and same[100:].min() > 1e-3


def test_nobody_beats_hindsight():
    for name in ("wine", "diabetes"):
        stream = convex.make(name, "abrupt", 0, 300, 3)
        limit = stream.hindsight()
        assert 0.0 <= limit < stream.ignorance
        rng = np.random.default_rng(0)
        for size in (0.0, 0.1, 1.0):
            w = size * rng.normal(size=stream.shape)
            assert np.mean([stream.loss(t, w)[0] for t in range(300)]) > limit


def test_tasks_differ_in_their_pixels_or_labels_only():
    permuted = list(nets.tasks("permuted", 0, TINY))
    for task in permuted[1:]:
        np.testing.assert_array_equal(np.sort(task.x, axis=1), np.sort(permuted[0].x, axis=1))
        np.testing.assert_array_equal(task.y, permuted[0].y)
        assert not np.array_equal(task.x, permuted[0].x)
    shuffled = list(nets.tasks("shuffled", 0, TINY))
    for task in shuffled[1:]:
        np.testing.assert_array_equal(task.x, shuffled[0].x)
        assert 0.0 < np.mean(task.y == shuffled[0].y) < 0.3
    assert all(task.batches.shape == (TINY.steps, TINY.batch) for task in permuted + shuffled)


def test_images_that_judge_are_not_trained_on():
    task = next(nets.tasks("permuted", 0, TINY))
    seen, unseen = ({tuple(row) for row in part} for part in (task.x, task.judged_x))
    assert not seen & unseen and task.batches.max() < len(task.x)


def convex_job(method, number, rounds=80):
    return play.Job("convex", "diabetes", "abrupt", method, number, 0, (rounds, 2))


def test_a_run_is_the_optimizer_on_the_stream():
    stream = convex.make("diabetes", "abrupt", 0, 80, 2)
    w, total = np.zeros(stream.shape), 0.0
    for t in range(80):
        loss, gradient = stream.loss(t, w)
        total += loss
        w -= 0.003 * gradient
    assert play.play(convex_job("SGD", 0.003))["loss"] == pytest.approx(total / 80, rel=1e-12)


def test_runs_repeat_themselves():
    for job in (
        convex_job("Tuned(Adam)", 0.01),
        play.Job("nets", "digits", "permuted", "Adaptive", 1.0, 0, (2, 4, 4, 5)),
    ):
        assert play.play(job) == play.play(job)


def test_a_run_that_diverges_counts_as_the_worst():
    row = play.play(convex_job("SGD", 1e9))
    limit = convex.WORST * convex.make("diabetes", "abrupt", 0, 80, 2).ignorance
    assert row["diverged"] and row["curve"][-1] == pytest.approx(limit) and row["loss"] <= limit
    json.dumps(row, allow_nan=False)


def test_a_network_that_diverges_guesses():
    row = play.play(play.Job("nets", "digits", "permuted", "SGD", 1e30, 0, dataclasses.astuple(TINY)))
    assert row["diverged"] and row["end"][-1] == row["online"][-1] == 0.1
    json.dumps(row, allow_nan=False)


def test_the_one_that_is_told_begins_anew():
    size = dataclasses.replace(TINY, tasks=2)
    first, second = play.play(
        play.Job("nets", "digits", "permuted", methods.TOLD[0], 0.01, 0, dataclasses.astuple(size))
    )["online"]
    once = play.play(play.Job("nets", "digits", "permuted", "Adam", 0.01, 0, dataclasses.astuple(size)))["online"]
    assert first == once[0] and second != once[1]


def test_threads_are_given_back():
    before = torch.get_num_threads()
    play.play(convex_job("SGD", 0.01))
    assert torch.get_num_threads() == before


def runs(scores, sign=1.0):
    rows = [{"number": n, "seed": s, "score": v} for n, values in scores.items() for s, v in enumerate(values)]
    return judge.Runs(rows, lambda row: row["score"], sign)


def test_the_best_number_is_one_that_can_be_ten_times_off():
    found = runs({0.01: [0.1, 0.1], 0.1: [0.4, 0.2], 1.0: [0.5, 0.7], 10.0: [2.0, 2.0]})
    line = found.line()
    assert (
        line["number"] == 0.1
        and line["mean"] == pytest.approx(0.3)
        and line["spread"] == pytest.approx(math.sqrt(0.02))
    )
    assert line["small"] == pytest.approx(0.1) and line["large"] == line["off"] == pytest.approx(0.6)
    accuracy = runs({0.1: [0.9], 1.0: [0.8], 10.0: [0.2], 100.0: [0.1]}, -1.0).line()
    assert accuracy["number"] == 1.0 and accuracy["off"] == pytest.approx(0.2)
    assert runs({1.0: [0.5]}).line()["off"] is None


def test_every_grid_has_room_for_ten_times_off():
    for method in (*methods.CONVEX.values(), *methods.NETS.values()):
        numbers = methods.grid(method)
        assert len(set(numbers)) == len(numbers) == methods.SPAN + 1
        assert runs({n: [n] for n in numbers}).best() == pytest.approx(10 * numbers[0])


def test_regret_is_zero_in_hindsight_and_one_for_knowing_nothing():
    place = {"kind": "convex", "data": "d", "shift": "s", "seed": 0, "number": 1.0}
    known = {**place, "method": play.HINDSIGHT, "loss": 0.2, "ignorance": 0.7}
    for loss, wanted in ((0.2, 0.0), (0.7, 1.0), (0.45, 0.5)):
        table = judge.regrets([known, {**place, "method": "SGD", "loss": loss}])
        assert table["d", "s"]["SGD"].scores[0, 0] == pytest.approx(wanted)


def test_sentences_say_who_wins_whoever_it_is():
    board = [{"method": name, "mean": 0.1 * i} for i, name in enumerate(["Adam", "Adaptive", "SGD", *methods.TOLD])]
    assert tables.places(board, "mean") == "1. Adam (0.000), 2. Adaptive (0.100) of 3"
    assert tables.places(board, "mean", ascending=False) == "1. SGD (0.200), 2. Adaptive (0.100) of 3"


def test_copies_of_the_parameters():
    lines = {line["method"]: line for line in cost.run([(600, 3)], turns=1)}
    assert {name: round(line["copies"]) for name, line in lines.items()} == {"Adam": 2, "Tuned(Adam)": 4, "Adaptive": 2}
    assert lines["Adam"]["ratio"] == 1.0


def test_the_plan_has_every_run_once():
    plan = jobs.full(2)
    wanted = jobs.jobs(plan)
    assert len(set(wanted)) == len(wanted)
    assert {job.method for job in wanted} == {*methods.CONVEX, *methods.NETS, play.HINDSIGHT}
    assert {(job.data, job.shift) for job in wanted if job.kind == "convex"} == set(jobs.STREAMS)


def test_what_was_played_is_found_again(tmp_path, monkeypatch):
    wanted = [convex_job("SGD", 0.01), convex_job("Adam", 0.01), convex_job(play.HINDSIGHT, 0.0)]
    first = jobs.run(wanted, tmp_path, 1)
    played = []
    monkeypatch.setattr(jobs, "play", lambda job: played.append(job))
    assert jobs.run(wanted, tmp_path, 1) == first and not played
    next(tmp_path.iterdir()).write_text("{")  # as a crash would leave it
    monkeypatch.undo()
    assert jobs.run(wanted, tmp_path, 1) == first


def test_spread_calls_in_other_processes_too():
    calls = [((number,), number) for number in (1.0, 4.0, 9.0)]
    for count in (1, 2):
        assert dict(parallel.spread(math.sqrt, calls, count)) == {1.0: 1.0, 4.0: 2.0, 9.0: 3.0}
    with pytest.raises(ValueError, match=r"^-1\.0: "):
        dict(parallel.spread(math.sqrt, [((-1.0,), -1.0), ((1.0,), 1.0)], 2))
    assert list(parallel.spread(math.sqrt, [])) == []


def test_the_command(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "wane", "bench", "lifelong", "--quick", "--seeds", "1", "--workers", "1", "--json"]
    done = subprocess.run([*command, "--out", tmp_path], capture_output=True, text=True, timeout=600, env=os.environ)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "results.json").read_text())
    assert {path.name for path in tmp_path.iterdir()} == {*found["files"], "cache"}
    assert [line["method"] for line in found["convex"]] == [
        line.split(" | ")[0][2:] for line in (tmp_path / "convex.md").read_text().splitlines()[2:]
    ]
    assert {line["method"] for line in found["tasks"]} == set(methods.NETS)
    assert all(sentence.endswith(".") for sentence in found["sentences"].values())


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop])
def test_only_the_product_of_rate_and_epsilon_counts(make):
    """By a power of two: the very same bits."""
    from wane.integrations.torch import Tuned

    def weights(rate, epsilon):
        theta = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
        optimizer = Tuned(make([theta], lr=rate), epsilon=epsilon)
        for t in range(200):
            theta.grad = torch.sign(theta.detach() - torch.tensor([1.0, -3.0, 0.2 * t]))
            optimizer.step()
        return theta.detach()

    found = weights(0.01, 1.0)
    assert torch.equal(found, weights(0.01 * 2**9, 2.0**-9)) and torch.equal(found, weights(0.01 * 2**-20, 2.0**20))
    assert not torch.equal(found, weights(0.01, 2.0))


def test_the_page_shows_every_method_on_everything():
    page = (Path(__file__).parent.parent / "docs" / "lifelong_evidence.md").read_text()
    table = {}
    for name in ("convex", "tasks"):
        text = re.search(rf"<!-- begin lifelong-{name} -->\n(.*?)<!-- end lifelong-{name} -->", page, flags=re.S)[1]
        table[name] = [line.strip("| ").split(" | ") for line in text.strip().splitlines()[2:]]
    assert {row[0] for row in table["convex"]} == set(methods.CONVEX)
    assert {row[0] for row in table["tasks"]} == set(methods.NETS)
    assert all(len(row) == 1 + 3 * len(nets.SEQUENCES) for row in table["tasks"])  # three columns for each sequence
