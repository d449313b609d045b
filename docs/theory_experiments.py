"""Writes ``theory_experiments.md`` and its figures: every sentence and every figure comes out of the code.

Run it with ``python docs/theory_experiments.py`` (half a minute, compiled). It needs matplotlib.
"""

import tempfile
import textwrap
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

Each claim of the paper's theory, played. `wane.experiments.theory` has one file a claim; the numbers below are those of
`run()`, with the seed 0, and `python docs/theory_experiments.py` writes this page. Where a claim shows up in a weaker
form than one might expect, the sentence says so.

```
from wane.experiments.theory import EXPERIMENTS

finding = EXPERIMENTS["restarts"](seed=0)  # quick=True for a smaller game
print(finding.sentence, finding.numbers)
```
"""


def section(finding):
    """The heading, the figure and the sentence of one experiment."""
    title = TITLES[finding.name]
    words = textwrap.fill(finding.sentence, 120, break_long_words=False, break_on_hyphens=False)
    return f"\n## {title}\n\n![{title}]({(FIGURES / finding.name).as_posix()}.png)\n\n{words}\n"


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
