"""Images that tests draw: coloured gratings, a direction and a fineness for each class, in the layouts of data sets."""

import struct

import numpy as np


def grating(k, classes, side, rng):
    """An image of class k: a phase and colours of its own, and a little noise."""
    y, x = np.mgrid[:side, :side] / side
    angle = np.pi * k / classes
    wave = np.sin(2.0 * np.pi * (2 + k) * (np.cos(angle) * x + np.sin(angle) * y) + rng.uniform(0.0, 2.0 * np.pi))
    light = (0.5 + 0.4 * wave)[..., None] * rng.uniform(0.4, 1.0, 3) + rng.normal(0.0, 0.05, (side, side, 3))
    return np.clip(255.0 * light, 0.0, 255.0).astype(np.uint8)


def tinyimagenet(root, classes=4, train=12, val=24, side=32, seed=0):
    """Train and validation images as JPEG files; returns the root."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    lines = []
    for k in range(classes):
        folder = root / "train" / f"n{k:02}" / "images"
        folder.mkdir(parents=True)
        for i in range(train):
            Image.fromarray(grating(k, classes, side, rng)).save(folder / f"n{k:02}_{i}.JPEG", quality=95)
    (root / "val" / "images").mkdir(parents=True)
    for i in range(val):
        k = i if i < classes else int(rng.integers(classes))
        Image.fromarray(grating(k, classes, side, rng)).save(root / "val" / "images" / f"val_{i}.JPEG", quality=95)
        lines.append(f"val_{i}.JPEG\tn{k:02}\t0\t0\t9\t9\n")
    (root / "val" / "val_annotations.txt").write_text("".join(lines))
    return root


def planes(images):
    """As CIFAR keeps them: the reds of an image, its greens, its blues; (n, 3072)."""
    return np.stack([np.concatenate([image[:, :, c].ravel() for c in range(3)]) for image in images])


def python2_pickle(rows, labels, key=b"labels"):
    """The very bytes of protocol 2 in which Python 2 and the numpy of its day wrote such a dictionary."""
    raw = rows.tobytes()
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    shape = b"J" + struct.pack("<i", rows.shape[0]) + b"J" + struct.pack("<i", rows.shape[1]) + b"\x86"
    kind = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    state = b"(K\x01" + shape + kind + b"\x89T" + struct.pack("<i", len(raw)) + raw + b"tb"
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    named = b"U" + bytes([len(key)]) + key
    return b"\x80\x02}(U\x0bbatch_labelU\x04someU\x04data" + array + state + named + listed + b"u."


def cifar(root, name="cifar10", each=30, seed=0):
    """Both versions, for Python and binary, with the same images; returns images and labels to learn from."""
    rng = np.random.default_rng(seed)
    files = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"] if name == "cifar10" else ["train", "test"]
    python, binary, header, key = (
        ("cifar-10-batches-py", "cifar-10-batches-bin", 1, b"labels")
        if name == "cifar10"
        else ("cifar-100-python", "cifar-100-binary", 2, b"fine_labels")
    )
    classes = 10 if name == "cifar10" else 100
    (root / python).mkdir(parents=True)
    (root / binary).mkdir(parents=True)
    learned = []
    for file in files:
        labels = [i % classes for i in range(each)]
        images = np.stack([grating(k, classes, 32, rng) for k in labels])
        rows = planes(images)
        (root / python / file).write_bytes(python2_pickle(rows, labels, key))
        heads = np.array([[0] * (header - 1) + [label] for label in labels], dtype=np.uint8)
        np.concatenate([heads, rows], axis=1).tofile(root / binary / f"{file}.bin")
        if not file.startswith("test"):
            learned.append((images, labels))
    return np.concatenate([i for i, _ in learned]), [k for _, labels in learned for k in labels]
