"""Run the notebooks of examples/ from top to bottom and write what they print into them: python tools/notebooks.py"""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"


def main():
    for path in sorted(FOLDER.glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        names = book.metadata
        with tempfile.TemporaryDirectory() as folder:
            made = NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}}).execute()
        made.metadata = names  # without the versions of this machine
        for cell in made.cells:
            cell.metadata = {}
        nbformat.write(made, path)
        print(path.name)


if __name__ == "__main__":
    main()
