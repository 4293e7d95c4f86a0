"""Lets many lanes run for long: ``python -m benchmarks.soak``, or ``make soak``.

Environments end and fail, and connections are cut. What both ends hold of the machine is recorded every few seconds;
it must not grow. Results are written to ``benchmarks/results`` after a run of full length, or where ``--out`` says.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.interpreters import REPOSITORY
from benchmarks.machine import machine_facts
from benchmarks.soak.report import as_data, draw, faults_of, markdown
from benchmarks.soak.running import Outcome, Plan, run

RESULTS = REPOSITORY / "benchmarks" / "results"

LONG = Plan()
SCALE = Plan(lanes=1000, servers=8, minutes=5.0, pause=0.5)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Looks for what grows in an hour.")
    parser.add_argument("--scale", action="store_true", help="1,000 lanes over 8 server processes for 5 minutes")
    parser.add_argument("--minutes", type=float, default=None, help="how long (60, or 5 with --scale)")
    parser.add_argument("--lanes", type=int, default=None, help="how many (256, or 1,000 with --scale)")
    parser.add_argument("--servers", type=int, default=None, help="how many processes (1, or 8 with --scale)")
    parser.add_argument(
        "--pause", type=float, default=None, help="seconds between two steps (0.1, or 0.5 with --scale)"
    )
    parser.add_argument("--every", type=float, default=None, help="seconds between two records and two cuts (5)")
    parser.add_argument(
        "--execution", choices=("thread", "inline", "async"), default=None, help="in the server (thread)"
    )
    parser.add_argument("--out", type=Path, default=None, help="where the results go")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs, prints what grew, and writes; 0 when nothing did."""
    options = parse(arguments)
    usual = SCALE if options.scale else LONG
    changed = {field.name: getattr(options, field.name, None) for field in dataclasses.fields(Plan)}
    plan = dataclasses.replace(usual, **{name: value for name, value in changed.items() if value is not None})
    facts = machine_facts()
    outcome = run(plan, lambda line: print(line, flush=True))
    out = options.out or (RESULTS if plan.minutes >= usual.minutes else None)
    if out is not None:
        write(out, "scale" if options.scale else "soak", outcome, plan, facts)
    faults = faults_of(outcome, plan)
    print("\n".join(faults) or "nothing grew, and every row was its lane's next one")
    return int(bool(faults))


def write(folder: Path, name: str, outcome: Outcome, plan: Plan, facts: dict[str, object]) -> None:
    """Writes ``<name>.json``, ``<name>.md`` and ``<name>.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps(as_data(outcome, plan, facts), ensure_ascii=False)
    (folder / f"{name}.json").write_text(data + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(markdown(outcome, plan, facts, name.capitalize()), encoding="utf-8")
    draw(outcome, folder / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
