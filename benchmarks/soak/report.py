"""What a soak run says: for the terminal, as a page, as data and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from benchmarks.soak.records import Check, checks_of
from benchmarks.soak.running import Outcome, Plan

_MIB = 2**20


def faults_of(outcome: Outcome, plan: Plan) -> list[str]:
    """All that is not as it must be; nothing for a run that is good."""
    grew = [check for check in checks_of(outcome.records) if not check.kept]
    faults = [f"{check.end}: {check.what} grew from {_before(check)} to {_after(check)}" for check in grew]
    if outcome.counts["wrong rows"]:
        faults.append(f"{outcome.counts['wrong rows']} rows were not those of their lane's next step")
    if outcome.kept < plan.lanes:
        faults.append(f"{plan.lanes - outcome.kept} lanes did not answer at the end")
    return faults


def as_data(outcome: Outcome, plan: Plan, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The whole run as JSON data."""
    return {
        "machine": dict(facts),
        "plan": asdict(plan),
        "faults": faults_of(outcome, plan),
        "checks": [{**asdict(check), "kept": check.kept} for check in checks_of(outcome.records)],
        "counts": dict(outcome.counts),
        "lanes_at_the_end": outcome.kept,
        "records": [asdict(record) for record in outcome.records],
    }


def markdown(outcome: Outcome, plan: Plan, facts: Mapping[str, Any], title: str) -> str:
    """The same as a page, without the records."""
    faults = faults_of(outcome, plan)
    checks = [
        f"| {check.end} | {check.what} | {_before(check)} | {_after(check)} | {'✔' if check.kept else '✘'} |"
        for check in checks_of(outcome.records)
    ]
    counts = [f"| {name} | {count:,} |" for name, count in sorted(outcome.counts.items())]
    parts = [
        f"# {title}",
        "Written by `make soak`; [docs/performance.md](../../docs/performance.md) says what is run.",
        _what_ran(outcome, plan),
        f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, Python {facts['python']}, {facts['date']}, "
        f"commit {facts['commit'][:12]}{' with uncommitted changes' if facts['uncommitted_changes'] else ''}.",
        "✘ " + "; ".join(faults) if faults else "✔ Nothing grew, and every row was its lane's next one.",
        "Medians of the first and of the last sixth of the last two thirds:",
        "\n".join(["| end | what | before | after | |", "| --- | --- | --- | --- | --- |", *checks]),
        "\n".join(["| counted | |", "| --- | --- |", *counts]),
    ]
    return "\n\n".join(parts) + "\n"


def _what_ran(outcome: Outcome, plan: Plan) -> str:
    last = outcome.records[-1]
    return (
        f"{plan.lanes:,} lanes on {plan.servers} server process{'es' if plan.servers > 1 else ''}, "
        f"{last.at / 60:.1f} minutes, {last.steps:,} steps of a lane, {plan.pause:g} s between two of all lanes, "
        f"execution `{plan.execution}`, {last.cpu / last.at:.2f} cores of CPU on both ends."
    )


def draw(outcome: Outcome, path: Path) -> None:
    """Writes a PNG file of memory, descriptors and threads against minutes."""
    figure, axes = pyplot.subplots(1, 3, figsize=(17, 4.5), layout="constrained")
    minutes = [record.at / 60 for record in outcome.records]
    for axis, what, unit in zip(axes, ("resident", "descriptors", "threads"), (_MIB, 1, 1), strict=True):
        for end in ("client", "server"):
            values = [getattr(getattr(record, end), what) / unit for record in outcome.records]
            axis.plot(minutes, values, label=end)
        axis.set_title("resident memory, MiB" if what == "resident" else what)
        axis.set_xlabel("minutes")
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _before(check: Check) -> str:
    return _amount(check.what, check.before)


def _after(check: Check) -> str:
    return _amount(check.what, check.after)


def _amount(what: str, value: float) -> str:
    return f"{value / _MIB:.1f} MiB" if what == "resident" else f"{value:g}"
