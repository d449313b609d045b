"""The notebooks of examples/ run from top to bottom, in a kernel of Jupyter."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat, nbclient and ipykernel")
nbclient = pytest.importorskip("nbclient", reason="notebooks need nbformat, nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="notebooks need nbformat, nbclient and ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytest.importorskip("sklearn")

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # those of Jupyter's own parts
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path):
    """A cell that fails raises here; `python tools/notebooks.py` refreshes what they show."""
    book = nbformat.read(path, as_version=4)
    shown = [len(cell.get("outputs", [])) for cell in book.cells]
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    assert [len(cell.get("outputs", [])) for cell in book.cells] == shown and sum(shown) >= 5


def test_there_are_notebooks_for_three_readers():
    assert [path.stem for path in NOTEBOOKS] == ["classifier", "forecasts", "many_series"]
