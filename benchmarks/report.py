"""What a run says: the table of targets, and the figures behind it, for the terminal, for a page and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.table import Table

from benchmarks.contenders import CONTENDERS
from benchmarks.rows import Check, Row
from benchmarks.samples import Samples, Spread

Mark = Literal["✔", "✘", "·", "–"]
"""Kept, missed, no target, not measured."""


@dataclass(frozen=True)
class Line:
    """One check as it came out."""

    row: Row
    check: Check
    figure: Spread | None
    mark: Mark


def mark_of(check: Check, figure: Spread | None) -> Mark:
    """Whether the median keeps the bound."""
    if figure is None:
        return "–"
    if check.bound is None:
        return "·"
    return "✔" if check.bound.allows(figure.median) else "✘"


def lines_of(rows: Sequence[Row], samples: Samples) -> list[Line]:
    """Every check of some rows."""
    lines = []
    for row in rows:
        for check in row.checks:
            figure = check.figure(samples)
            lines.append(Line(row, check, figure, mark_of(check, figure)))
    return lines


def row_mark(lines: Sequence[Line]) -> Mark:
    """A row is kept when all of its targets are, and not measured when one of them was not."""
    marks = {line.mark for line in lines if line.check.bound is not None}
    if "✘" in marks:
        return "✘"
    return "–" if "–" in marks or not marks else "✔"


def printed(figure: Spread | None, unit: str) -> str:
    """Median, least and most, such as ``5.2× (4.9–5.6)``."""
    if figure is None:
        return "not measured"
    if figure.least == figure.most:
        return f"{_short(figure.median)}{unit}"
    return f"{_short(figure.median)}{unit} ({_short(figure.least)}–{_short(figure.most)})"


def _short(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def target_table(lines: Sequence[Line]) -> Table:
    """The table of targets for the terminal."""
    table = Table(title="median of the rounds' ratios (least–most)", show_lines=False)
    for heading in ("work", "compared", "target", "measured", ""):
        table.add_column(heading, overflow="fold")
    styles = {"✔": "green", "✘": "red", "·": "dim", "–": "yellow"}
    before: Row | None = None
    for line in lines:
        work = "" if line.row is before else line.row.work
        if line.row is not before:
            table.add_section()
        before = line.row
        bound = "" if line.check.bound is None else line.check.bound.printed
        measured = printed(line.figure, line.check.printed_unit)
        table.add_row(work, line.check.label, bound, measured, line.mark, style=styles[line.mark])
    return table


def figure_tables(samples: Samples) -> list[Table]:
    """What every configuration did, one table for each group whose rounds were steps."""
    groups = dict.fromkeys(sample.group for sample in samples.every if "rate" in sample.values)
    return [_figure_table(group, samples) for group in groups]


def _figure_table(group: str, samples: Samples) -> Table:
    table = Table(title=group)
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading == "configuration" else "right")
    for cells in _figure_cells(group, samples):
        table.add_row(*cells)
    return table


_HEADINGS = ("configuration", "lanes", "steps/s", "CPU µs a step", "client", "server", "batch ms", "p95 ms")
_METRICS = ("rate", "cpu", "client_cpu", "server_cpu", "batch_ms", "p95_batch_ms")


def _figure_cells(group: str, samples: Samples) -> list[list[str]]:
    rows = []
    for configuration in samples.configurations(group):
        spreads = [samples.spread(group, configuration, metric) for metric in _METRICS]
        title = CONTENDERS[configuration.contender].title
        cells = ["" if spread is None else _short(spread.median) for spread in spreads]
        rows.append([title, str(configuration.lanes), *cells])
    return rows


def markdown(lines: Sequence[Line], samples: Samples, facts: Mapping[str, Any]) -> str:
    """The same as a page."""
    parts = [
        "# Results",
        "Written by `make bench`; [docs/performance.md](../../docs/performance.md) says how it is measured.",
        f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, Python {facts['python']}, {facts['date']}, "
        f"commit {facts['commit'][:12]}{' with uncommitted changes' if facts['uncommitted_changes'] else ''}.",
        "## Targets",
        "Each figure is the median of the rounds' ratios, with the least and the most. ✔ kept, ✘ missed, · without a "
        "target, – not measured.",
        _markdown_targets(lines),
        "## Figures",
        "Medians over the rounds.",
    ]
    groups = dict.fromkeys(sample.group for sample in samples.every if "rate" in sample.values)
    for group in groups:
        parts += [f"### {group}", _markdown_table(_HEADINGS, _figure_cells(group, samples))]
    return "\n\n".join(parts) + "\n"


def _markdown_targets(lines: Sequence[Line]) -> str:
    cells = []
    before: Row | None = None
    for line in lines:
        first = line.row is not before
        before = line.row
        bound = "" if line.check.bound is None else line.check.bound.printed
        work = f"**{line.row.work}**" if first else ""
        cells.append([work, line.check.label, bound, printed(line.figure, line.check.printed_unit), line.mark])
    return _markdown_table(("work", "compared", "target", "measured", ""), cells)


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def as_data(lines: Sequence[Line], samples: Samples, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The whole run as JSON data: the machine, every check, every sample."""
    return {
        "machine": dict(facts),
        "targets": [
            {
                "row": line.row.key,
                "compared": line.check.label,
                "target": None if line.check.bound is None else line.check.bound.printed,
                "median": None if line.figure is None else line.figure.median,
                "least": None if line.figure is None else line.figure.least,
                "most": None if line.figure is None else line.figure.most,
                "mark": line.mark,
            }
            for line in lines
        ],
        "samples": [
            {
                "group": sample.group,
                "contender": sample.configuration.contender,
                "lanes": sample.configuration.lanes,
                "round": sample.round,
                **{metric: float(f"{value:.6g}") for metric, value in sample.values.items()},
            }
            for sample in samples.every
        ],
    }


def targets_as_markdown(rows: Sequence[Row]) -> str:
    """The targets alone, as the page on performance has them."""
    return _markdown_table(("work", "target", "`--rows`"), [[row.work, row.target, f"`{row.key}`"] for row in rows])
