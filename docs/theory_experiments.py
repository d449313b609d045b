"""Writes ``theory_experiments.md`` and its figures: every figure comes out of the code, and every sentence is printed.

Run it with ``python docs/theory_experiments.py`` (half a minute, compiled). It needs matplotlib.
"""

import tempfile
from pathlib import Path

from wane.experiments.figures import save
from wane.experiments.theory import EXPERIMENTS

DOCS = Path(__file__).parent
FIGURES = Path("figures") / "theory"
TITLES = {
    "bounds": "The bounds hold",
    "epsilon": "An epsilon that is too small costs a logarithm",
    "center": "The starting point is never forgotten",
    "forgetting": "Past mistakes are forgotten",
    "restarts": "Zeros and ones are restarts",
    "ogd_failure": "An oracle does not save gradient descent",
    "rescaling": "Rescaling wants no guess of the Lipschitz constant",
    "target_rate": "Rare misses are learned sooner",
    "smallest_set": "Starting at zero picks small sets",
}
INTRODUCTION = """\
# The theory in games

Each claim of the paper's theory, played. `wane.experiments.theory.EXPERIMENTS[name]().sentence` says what came out in
numbers; `python docs/theory_experiments.py` prints all of these sentences and writes this page.
"""


def section(finding):
    """The heading and the figure of one experiment, under its name."""
    title = TITLES[finding.name]
    return f"\n## {title}\n\n`{finding.name}`\n\n![{title}]({(FIGURES / finding.name).as_posix()}.png)\n"


def main():
    """Run everything at full size."""
    (DOCS / FIGURES).mkdir(parents=True, exist_ok=True)
    text = INTRODUCTION
    for run in EXPERIMENTS.values():
        finding = run()
        print(finding.sentence, flush=True)
        text += section(finding)
        with tempfile.TemporaryDirectory() as folder:
            drawn = {path.suffix: path for path in save(finding, Path(folder))}
            (DOCS / FIGURES / f"{finding.name}.png").write_bytes(drawn[".png"].read_bytes())
    (DOCS / "theory_experiments.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
