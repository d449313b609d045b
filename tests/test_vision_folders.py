"""Data sets in folders: what is read is what was drawn, and reading runs nothing."""

import io
import os
import pickle
import shutil

import drawn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane.vision import cifar, folders
from wane.vision.images import pixels

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def root(tmp_path):
    return drawn.tinyimagenet(tmp_path / "tiny", classes=3, train=4, val=7, side=16)


def test_tinyimagenet_is_what_the_files_hold(root):
    data = folders.read("tinyimagenet", root)
    assert data.name == "tinyimagenet" and data.classes == ("n00", "n01", "n02")
    assert data.train.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    listed = [line.split("\t") for line in (root / "val" / "val_annotations.txt").read_text().splitlines()]
    assert data.test.labels.tolist() == [int(fields[1][1:]) for fields in listed]
    got = data.test.read(np.array([5, 0, 5]))
    assert got.dtype == np.uint8 and got.shape == (3, 16, 16, 3)
    for image, i in zip(got, (5, 0, 5), strict=True):
        assert np.array_equal(image, np.asarray(Image.open(root / "val" / "images" / listed[i][0])))
    one = data.train.read(np.array([6]))[0]
    assert np.array_equal(one, np.asarray(Image.open(root / "train" / "n01" / "images" / "n01_2.JPEG")))


def test_grey_images_come_in_colour(root):
    path = root / "train" / "n00" / "images" / "n00_0.JPEG"
    Image.open(path).convert("L").save(path)
    (image,) = folders.read("tinyimagenet", root).train.read(np.array([0]))
    assert image.shape == (16, 16, 3) and (image == image[:, :, :1]).all()


def test_images_may_lie_in_the_folder_of_their_class(root):
    before = folders.read("tinyimagenet", root).train.read(np.arange(12))
    for k in range(3):
        inside = root / "train" / f"n{k:02}" / "images"
        for path in inside.iterdir():
            path.rename(inside.parent / path.name)
        inside.rmdir()
    assert np.array_equal(folders.read("tinyimagenet", root).train.read(np.arange(12)), before)


@pytest.mark.parametrize("inside", ["images", "."])
@pytest.mark.parametrize("left", ["nothing", "annotations", "an empty folder"])
def test_validation_images_may_lie_in_folders_of_their_classes(root, inside, left):
    before = folders.read("tinyimagenet", root)
    images = {i.tobytes(): k for i, k in zip(before.test.read(np.arange(7)), before.test.labels, strict=True)}
    annotations = root / "val" / "val_annotations.txt"
    for name, label, *_ in (line.split("\t") for line in annotations.read_text().splitlines()):
        (root / "val" / label / inside).mkdir(parents=True, exist_ok=True)
        (root / "val" / "images" / name).rename(root / "val" / label / inside / name)
    if left != "an empty folder":
        (root / "val" / "images").rmdir()
    if left == "nothing":
        annotations.unlink()
    after = folders.read("tinyimagenet", root)
    assert sorted(after.test.labels) == sorted(before.test.labels) and after.classes == before.classes
    for image, label in zip(after.test.read(np.arange(7)), after.test.labels, strict=True):
        assert images[image.tobytes()] == label
    (root / "val" / "n77").mkdir()
    with pytest.raises(ValueError, match=r"val.n77: no images to learn 'n77' from in .*train.n77"):
        folders.read("tinyimagenet", root)


def test_validation_images_sorted_in_part_are_refused(root):
    """Those that are not yet in a folder of their class would be lost without a word."""
    (root / "val" / "n00").mkdir()
    (root / "val" / "images" / "val_0.JPEG").rename(root / "val" / "n00" / "val_0.JPEG")
    with pytest.raises(FileNotFoundError, match=r"line 1: there is no file .*val_0\.JPEG"):
        folders.read("tinyimagenet", root)


def test_the_folder_above_will_do(root):
    root.rename(root.with_name("tiny-imagenet-200"))
    data = folders.read("tinyimagenet", root.parent)
    assert len(data.train.labels) == 12 and data.test.read(np.arange(7)).shape == (7, 16, 16, 3)


def test_hidden_files_and_folders_are_left_out(root):
    """As a Mac leaves them in an archive, a file manager in a folder, a notebook where it was opened."""
    before = folders.read("tinyimagenet", root)
    for folder in (root / "train", root / "train" / "n00" / "images", root / "val"):
        (folder / ".DS_Store").write_bytes(b"Bud1")
        (folder / ".ipynb_checkpoints").mkdir()
    (root / "train" / "n00" / "images" / "._n00_0.JPEG").write_bytes(b"Mac OS X")
    after = folders.read("tinyimagenet", root)
    assert after.classes == before.classes and after.train.names == before.train.names


def test_annotations_may_come_from_windows(root):
    before = folders.read("tinyimagenet", root).test
    path = root / "val" / "val_annotations.txt"
    rows = [line.split("\t")[:2] for line in path.read_text().splitlines()]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join("\t".join(row) for row in rows).encode())
    after = folders.read("tinyimagenet", root).test
    assert after.names == before.names and after.labels.tolist() == before.labels.tolist()


def test_sixteen_bits_of_grey_become_eight(tmp_path):
    grey = np.arange(256, dtype=np.uint16).reshape(16, 16)
    Image.fromarray(grey * 257).save(tmp_path / "deep.png")
    found = pixels(tmp_path / "deep.png")
    assert found.dtype == np.uint8 and np.array_equal(found, np.stack([grey] * 3, axis=-1))


def test_an_image_of_absurd_size_is_named(tmp_path, monkeypatch):
    Image.fromarray(np.zeros((16, 16), dtype=np.uint8)).save(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match=r"huge\.png cannot be read as an image \(Image size"):
        pixels(tmp_path / "huge.png")


def test_marks_change_with_the_image(root):
    data = folders.read("tinyimagenet", root)
    before = data.test.marks(np.arange(7))
    assert len({*before}) == 7 and before == data.test.marks(np.arange(7))
    Image.fromarray(np.zeros((16, 16, 3), dtype=np.uint8)).save(root / "val" / "images" / "val_2.JPEG")
    after = data.test.marks(np.arange(7))
    assert [i for i in range(7) if before[i] != after[i]] == [2]
    path = root / "val" / "images" / "val_5.JPEG"
    path.write_bytes(path.read_bytes()[::-1])  # of the same length
    assert [i for i in range(7) if before[i] != data.test.marks(np.arange(7))[i]] == [2, 5]
    path.unlink()
    with pytest.raises(ValueError, match=r"val_5\.JPEG cannot be read as an image \(No such file"):
        data.test.marks(np.array([5]))


def lose_annotations(root):
    (root / "val" / "val_annotations.txt").unlink()


def lose_train(root):
    shutil.rmtree(root / "train")


def lose_class(root):
    shutil.rmtree(root / "train" / "n01")


def lose_images_of_class(root):
    shutil.rmtree(root / "train" / "n01" / "images")


def lose_one(root):
    (root / "val" / "images" / "val_3.JPEG").unlink()


def forget_a_class(root):
    (root / "val" / "val_annotations.txt").write_text("val_0.JPEG n00\n")


def name_nothing(root):
    (root / "val" / "val_annotations.txt").write_text("\n")


def point_outside(root):
    (root / "val" / "val_annotations.txt").write_text("../../train/n00/images/n00_0.JPEG\tn00\n")


def write_bytes_into_annotations(root):
    (root / "val" / "val_annotations.txt").write_bytes(b"val_0.JPEG\tn\xff0\n")


@pytest.mark.parametrize(
    ("harm", "error", "said"),
    [
        (lose_annotations, FileNotFoundError, r"no file .*val_annotations\.txt: a line of it is"),
        (lose_train, FileNotFoundError, r"no folder .*train: wanted is one with train/ and val/"),
        (lose_class, ValueError, r"val_annotations\.txt, line \d+: no images to learn 'n01' from in .*n01"),
        (lose_images_of_class, ValueError, r"n01 holds no image"),
        (lose_one, FileNotFoundError, r"line 4: there is no file .*val_3\.JPEG"),
        (forget_a_class, ValueError, r"line 1: wanted a name, a tab and a class, got 'val_0\.JPEG n00'"),
        (name_nothing, ValueError, r"names no image"),
        (write_bytes_into_annotations, ValueError, r"val_annotations\.txt is not text in UTF-8"),
        (point_outside, FileNotFoundError, r"line 1: there is no file"),
    ],
)
def test_what_is_missing_is_named(root, harm, error, said):
    harm(root)
    with pytest.raises(error, match=said):
        folders.read("tinyimagenet", root)


@pytest.mark.parametrize("rest", [0, 1, 100, 300])
def test_a_broken_image_is_named(root, rest):
    path = root / "val" / "images" / "val_4.JPEG"
    path.write_bytes(path.read_bytes()[:rest])
    data = folders.read("tinyimagenet", root)
    data.test.read(np.array([3, 5]))
    with pytest.raises(ValueError, match=r"val_4\.JPEG cannot be read as an image"):
        data.test.read(np.array([3, 4, 5]))


def test_an_image_that_cannot_be_opened_is_named_without_a_number(root):
    path = root / "val" / "images" / "val_4.JPEG"
    path.unlink()
    path.mkdir()
    data = folders.read("tinyimagenet", root)
    with pytest.raises(ValueError, match=r"val_4\.JPEG cannot be read as an image \([A-Z][a-z ]+\): replace it"):
        data.test.read(np.array([4]))


def test_an_image_of_another_size_is_named(root):
    Image.fromarray(np.zeros((16, 20, 3), dtype=np.uint8)).save(root / "val" / "images" / "val_4.JPEG")
    data = folders.read("tinyimagenet", root)
    data.test.read(np.array([3]))
    with pytest.raises(ValueError, match=r"val_4\.JPEG is 20 x 16 pixels, and .*val_3\.JPEG is 16 x 16"):
        data.test.read(np.array([4]))


def test_unknown_data_and_no_folder(tmp_path):
    with pytest.raises(ValueError, match=r"no data set is called 'mnist'.*tinyimagenet, cifar10, cifar100"):
        folders.read("mnist", tmp_path)
    for name in folders.READERS:
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            folders.read(name, tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"no file .*cifar-10-batches-py.data_batch_1 or .*data_batch_1\.bin"):
        folders.read("cifar10", tmp_path)


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar_is_what_was_written_in_both_versions(tmp_path, name):
    images, labels = drawn.cifar(tmp_path, name)
    python, binary = cifar.LAYOUTS[name].folders
    found = [folders.read(name, tmp_path / folder) for folder in (python, binary)]
    assert len(found[0].classes) == cifar.LAYOUTS[name].classes
    for data in [*found, folders.read(name, tmp_path)]:
        assert data.train.labels.tolist() == labels
        assert np.array_equal(data.train.read(np.arange(len(labels))), images)
    assert np.array_equal(found[0].test.read(np.arange(30)), found[1].test.read(np.arange(30)))


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_pickles_of_today_are_read_too(tmp_path, protocol, order):
    rows = np.random.default_rng(0).integers(256, size=(4, 3072)).astype(np.uint8)
    text = {b"data": np.asarray(rows, order=order), b"fine_labels": [0, 99, 5, 5]}
    for file in ("train", "test"):
        (tmp_path / file).write_bytes(pickle.dumps(text, protocol=protocol))
    data = folders.read("cifar100", tmp_path)
    assert np.array_equal(drawn.planes(data.train.read(np.arange(4))), rows)


class Evil:
    def __init__(self, call, *arguments):
        self.what = call, arguments

    def __reduce__(self):
        return self.what


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_malicious_pickle_is_refused_and_nothing_runs(tmp_path, protocol):
    made = tmp_path / "made"
    for call, name in ((os.mkdir, "mkdir"), (eval, "eval"), (getattr, "getattr"), (np.load, "load")):
        argument = f"__import__('os').mkdir({str(made)!r})" if call is eval else str(made)
        rows = np.zeros((1, 3072), dtype=np.uint8)
        for content in (Evil(call, argument), {b"data": rows, b"fine_labels": [0], b"more": Evil(call, argument)}):
            for file in ("train", "test"):
                (tmp_path / file).write_bytes(pickle.dumps(content, protocol=protocol))
            with pytest.raises(ValueError, match=rf"train is not a batch of CIFAR.*\.{name}, .*refused"):
                folders.read("cifar100", tmp_path)
    assert not made.exists()


def test_names_near_those_allowed_are_refused():
    for name in (
        "numpy.core.multiarray._reconstruct.__globals__",
        "numpy.ndarray.tofile",
        "numpy.load",
        "_codecs.decode",
    ):
        module, _, attribute = name.rpartition(".")
        text = f"c{module}\n{attribute}\n.".encode()
        if name.endswith("tofile"):
            text = b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93."
        with pytest.raises(pickle.UnpicklingError, match="refused"):
            cifar._Unpickler(io.BytesIO(text)).load()


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda b: b"\x80\x02}(" + b))
def test_garbage_is_a_value_error(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("garbage")
    (folder / "train").write_bytes(content)
    (folder / "test").write_bytes(content)
    with pytest.raises(ValueError, match="train is not a batch of CIFAR as it was published"):
        folders.read("cifar100", folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({b"data": np.zeros((2, 3072), dtype=np.uint8), b"labels": [0, 1]}, "it has no 'fine_labels'"),
        ({b"data": np.zeros((2, 3071), dtype=np.uint8), b"fine_labels": [0, 1]}, "shape of the data"),
        ({b"data": np.zeros((3, 3072), dtype=np.uint8), b"fine_labels": [0, 1]}, "with 2 labels"),
        ({b"data": np.zeros((2, 3072), dtype=np.int8), b"fine_labels": [0, 1]}, "array of bytes"),
        ({b"data": np.zeros((2, 3072), dtype=np.uint8), b"fine_labels": [0, 100]}, r"must lie in \[0, 100\)"),
        ({b"data": np.zeros((2, 3072), dtype=np.uint8), b"fine_labels": [0, -1]}, r"must lie in \[0, 100\)"),
        ({b"data": np.zeros((2, 3072), dtype=np.uint8), b"fine_labels": [0, 1.5]}, "list of whole numbers"),
        ({b"data": np.zeros((2, 3072), dtype=np.uint8), b"fine_labels": [[0], [1]]}, "list of whole numbers"),
    ],
)
def test_a_batch_of_something_else_is_refused(tmp_path, content, said):
    for file in ("train", "test"):
        (tmp_path / file).write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match=said):
        folders.read("cifar100", tmp_path)


def test_a_binary_file_cut_short_is_refused(tmp_path):
    drawn.cifar(tmp_path)
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"data_batch_3\.bin has \d+ bytes, which are no records of 3073"):
        folders.read("cifar10", path.parent)


def test_a_batch_without_images_is_refused(tmp_path):
    for file in ("train", "test"):
        (tmp_path / file).write_bytes(drawn.python2_pickle(np.zeros((0, 3072), dtype=np.uint8), [], b"fine_labels"))
    with pytest.raises(ValueError, match=r"must lie in \[0, 100\), one an image, got array\(\[\]"):
        folders.read("cifar100", tmp_path)
