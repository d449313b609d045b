"""All of it by one call: the targets, one after the other, each written as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wane.experiments import fig1, fig2, fig3, figures, table1, theory
from wane.experiments.data import Source
from wane.experiments.protocol import TITLES, Experiment
from wane.experiments.results import Finding, read_json, versions, write_csv, write_json
from wane.state.files import replace_file

TARGETS = ("table1", "fig1", "fig2", "fig3", "theory")
SCHEDULES = ("sudden", "gradual")
Started = Callable[[str, int], Callable[[], Any]]  # a target begins, so many ticks long; returns what to call at each


def silent(target: str, ticks: int) -> Callable[[], Any]:
    """No progress is shown."""
    return lambda: None


class Reproduction:
    """The targets into a folder; ``results.json`` there holds every number, also those of earlier calls.

    Args:
        source: of the streams of labels.
        out: the folder; it is made.
        published: as the published code does it, see ``wane.experiments.protocol``.
        seeds: Table 1 is made with the seeds 0, ..., seeds - 1.
        trials: of the runtime.
        quick: smaller games in ``theory``.
        started: is told of the progress.
    """

    def __init__(
        self,
        source: Source,
        out: Path,
        published: bool = False,
        seeds: int = 1,
        trials: int = 10,
        quick: bool = False,
        started: Started = silent,
    ) -> None:
        """Read what is in the folder."""
        self.source, self.out, self.published = source, out, published
        self.seeds, self.trials, self.quick, self.started = seeds, trials, quick, started
        out.mkdir(parents=True, exist_ok=True)
        self.results: dict[str, Any] = read_json(out / "results.json")
        self.files: list[Path] = []
        self.rows: list[dict[str, Any]] | None = None

    def run(self, targets: Sequence[str]) -> dict[str, Any]:
        """Make the targets; returns what results.json holds."""
        if set(targets) - {"table1"}:
            figures.needed()
        for target in targets:
            getattr(self, target)()
        return self.results

    def table1(self) -> None:
        """Ten methods: results.json, table1.csv, table1.md."""
        rows = self._rows()
        means = table1.summary(rows)
        keys = [k for k, v in rows[0].items() if isinstance(v, (str, int, float))]
        self._csv("table1", {key: [row[key] for row in rows] for key in keys})
        path = self.out / "table1.md"
        replace_file(path, table1.markdown(means).encode(), sync=False)
        self.files.append(path)
        self._keep("table1", rows, table1_mean=means)

    def fig1(self) -> None:
        """Local coverage and width on each schedule there is."""
        tick = self.started("fig1", len(SCHEDULES))
        there = [e for e in (self._experiment(s) for s in SCHEDULES) if e is not None]
        self._finding(fig1.run(there, tick))

    def fig2(self) -> None:
        """A wrong guess of the largest score."""
        tick = self.started("fig2", len(fig2.METHODS))
        self._finding(fig2.run(self._main(0), tick))

    def fig3(self) -> None:
        """The runtime, of the same trials as in Table 1 if that was asked for too."""
        self._finding(fig3.run(self._rows()[: len(TITLES)]))

    def theory(self) -> None:
        """The claims of the theory, a figure each."""
        tick = self.started("theory", len(theory.EXPERIMENTS))
        found = {}
        for name, run in theory.EXPERIMENTS.items():
            finding = run(quick=self.quick)
            found[name] = self._files(finding, f"theory_{name}")
            self._keep("theory", found)
            tick()

    def _rows(self) -> list[dict[str, Any]]:
        if self.rows is None:
            tick = self.started("table1", self.seeds * len(TITLES) * (1 + self.trials))
            made = (table1.run(self._main(seed), self.trials, tick) for seed in range(self.seeds))
            self.rows = [row for rows in made for row in rows]
        return self.rows

    def _main(self, seed: int) -> Experiment:
        found = self._experiment(self.source.main, seed)
        assert found is not None
        return found

    def _experiment(self, schedule: str, seed: int = 0) -> Experiment | None:
        stream = self.source.stream(schedule, seed)
        return None if stream is None else Experiment(stream, seed, self.published)

    def _finding(self, finding: Finding) -> None:
        self._keep(finding.name, self._files(finding, finding.name))

    def _files(self, finding: Finding, name: str) -> dict[str, Any]:
        self._csv(name, finding.data)
        drawn = figures.save(finding, self.out, name)
        self.files += drawn
        files = [f"{name}.csv", *(path.name for path in drawn)]
        return {"sentence": finding.sentence, "numbers": finding.numbers, "data": finding.data, "files": files}

    def _csv(self, name: str, columns: Any) -> None:
        path = self.out / f"{name}.csv"
        write_csv(path, columns)
        self.files.append(path)

    def _keep(self, target: str, found: Any, **more: Any) -> None:
        about = {"data": self.source.name, "published": self.published, "seeds": self.seeds, "versions": versions()}
        runs = {**self.results.get("runs", {}), target: about}
        self.results = {**self.results, target: found, **more, "runs": runs}
        path = self.out / "results.json"
        write_json(path, self.results)
        if path not in self.files:
            self.files.append(path)
