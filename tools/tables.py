"""Write the table of docs/ that lists the methods, from the package itself: python tools/tables.py

It stands between marks, as in <!-- begin methods --> ... <!-- end methods -->. tests/test_docs.py fails while one is
not what this file writes.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import table  # noqa: E402

import wane  # noqa: E402
from wane import trackers  # noqa: E402
from wane.cli.about import every  # noqa: E402


def methods():
    """One line for each method: what can be set, and how a panel keeps it."""
    lines = ["| name | what can be set | numbers in a panel |", "|---|---|---|"]
    for name, one in every().items():
        settings = [f"`{k}`" if v is None else f"`{k}={short(v)}`" for k, v in one["settings"].items()]
        if name == "pool":  # which has no trackers
            kept = wane.Panel(name).flat
        else:
            kept = trackers.make(name, 0.1, **table.NEEDS[name]).flat() or "objects"
        lines.append(f"| `{name}` | {', '.join(settings) or 'nothing'} | {kept} |")
    return "\n".join(lines)


def short(value):
    """The default of a setting; a long tuple by its ends."""
    parts = value.strip("()").split(", ")
    return value if len(parts) < 4 else f"({parts[0]}, ..., {parts[-1]})"


def blocks():
    """By the name of their marks."""
    return {"methods": methods()}


def written(text, made):
    """A page with these blocks in it."""
    for name, block in made.items():
        mark = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", flags=re.S)
        text = mark.sub(lambda m, block=block: f"{m[1]}\n{block}\n\n{m[2]}", text)
    return text


def main():
    made = blocks()
    for page in sorted((ROOT / "docs").glob("*.md")):
        old = page.read_text()
        if (new := written(old, made)) != old:
            page.write_text(new)
            print(page.name)


if __name__ == "__main__":
    main()
