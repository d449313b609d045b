"""What a release is made of agrees with itself: versions, licences, requirements."""

import re
import sys
from pathlib import Path

import pytest

import wane

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ROOT = Path(__file__).parent.parent
RECIPE = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())


@pytest.fixture(scope="module")
def project():
    if sys.version_info < (3, 11):
        pytest.skip("tomllib comes with Python 3.11")
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements):
    """Names with their least versions, as pip and conda write them."""
    return {re.sub(r"\s", "", text) for text in requirements}


def test_every_file_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert RECIPE["context"]["version"] == str(citation["version"]) == wane.__version__
    assert re.search(
        rf"^## \[({re.escape(wane.__version__)}|Unreleased)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.M
    )


def test_the_conda_package_needs_what_the_package_and_its_command_need(project):
    wanted = names([*project["dependencies"], *project["optional-dependencies"]["cli"]])
    assert names(RECIPE["requirements"]["run"]) == wanted | {f"python{project['requires-python']}"}


def test_the_licences_are_the_same_and_there(project):
    assert RECIPE["about"]["license"] == project["license"]
    assert RECIPE["about"]["license_file"] == project["license-files"]
    assert all((ROOT / name).exists() for name in project["license-files"])
