"""Runs the benchmarks: ``python -m benchmarks``, or ``make bench``.

By default everything is measured and written to ``benchmarks/results``. With ``--rows`` or ``--quick`` nothing is
written unless ``--out`` says where.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.groups import groups_for
from benchmarks.interpreters import REPOSITORY
from benchmarks.machine import machine_facts, package_versions
from benchmarks.measuring import Settings, measure
from benchmarks.plot import draw
from benchmarks.report import as_data, figure_tables, lines_of, markdown, target_table, targets_as_markdown
from benchmarks.rows import IDLE_SECONDS, ROWS, Row
from benchmarks.samples import Samples

RESULTS = REPOSITORY / "benchmarks" / "results"
QUICK_ROUNDS, QUICK_SECONDS, QUICK_IDLE_SECONDS = 2, 0.2, 2.0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    keys = [row.key for row in ROWS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measures what docs/performance.md tells."
    )
    parser.add_argument("--rows", nargs="+", choices=keys, metavar="ROW", help=f"only these: {', '.join(keys)}")
    parser.add_argument("--quick", action="store_true", help="too short to be right: to see that everything runs")
    parser.add_argument("--rounds", type=int, default=None, help="rounds of a group (7)")
    parser.add_argument("--seconds", type=float, default=None, help="of each configuration in a round (0.7)")
    parser.add_argument("--out", type=Path, default=None, help="where the results go")
    parser.add_argument("--targets", action="store_true", help="print the targets and measure nothing")
    return parser.parse_args(arguments)


def settings_of(options: argparse.Namespace, console: Console) -> Settings:
    """How long is measured."""
    usual = Settings()
    rounds, seconds, idle = usual.rounds, usual.seconds, IDLE_SECONDS
    if options.quick:
        rounds, seconds, idle = QUICK_ROUNDS, QUICK_SECONDS, QUICK_IDLE_SECONDS
    return Settings(
        rounds=options.rounds or rounds,
        seconds=options.seconds or seconds,
        idle_seconds=idle,
        say=lambda text: console.print(text, style="dim", highlight=False, markup=False),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints, and writes what was asked for; 0 when every target was measured and kept."""
    options = parse(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    if options.targets:
        print(targets_as_markdown(ROWS))
        return 0
    rows = [row for row in ROWS if options.rows is None or row.key in options.rows]
    partial = options.rows is not None
    facts = machine_facts()
    settings = settings_of(options, console)
    samples = Samples()
    for group, configurations in groups_for(rows, only_cited=partial).items():
        samples.add(measure(group, configurations, settings))
    lines = lines_of(rows, samples)
    for table in (*figure_tables(samples), target_table(lines)):
        console.print(table)
    out = options.out or (None if partial or options.quick else RESULTS)
    if out is not None:
        write(out, rows, samples, {**facts, "rounds": settings.rounds, "seconds": settings.seconds})
        console.print(f"written to {out}")
    return int(any(line.mark in "✘–" for line in lines if line.check.bound is not None))


def write(folder: Path, rows: Sequence[Row], samples: Samples, facts: dict[str, object]) -> None:
    """Writes ``results.json``, ``results.md`` and ``steps_against_lanes.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = lines_of(rows, samples)
    facts = {**facts, "packages": package_versions()}
    data = json.dumps(as_data(lines, samples, facts), indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(data + "\n", encoding="utf-8")
    (folder / "results.md").write_text(markdown(lines, samples, facts), encoding="utf-8")
    draw(samples, folder / "steps_against_lanes.png")


if __name__ == "__main__":
    sys.exit(main())
