"""What a run found, as JSON; all runs of a folder as a table and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypedDict

import matplotlib
from evaluation import Comparison, win_interval

matplotlib.use("Agg")
from matplotlib import pyplot


class Point(TypedDict):
    """A look at the policy on the way: how many hands it had learnt from, and how many of others it won."""

    learnt_from: int
    hands: int
    wins: int


class Result(TypedDict):
    """One run."""

    seed: int
    settings: dict[str, Any]
    parameters: int
    versions: dict[str, str]
    curve: list[Point]
    evaluation: dict[str, int]


def write_result(folder: Path, result: Result) -> Path:
    """Writes ``seed_N.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed_{result['seed']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return path


def write_summary(folder: Path) -> None:
    """Writes ``results.md`` and ``learning.png`` of all runs in the folder."""
    results: list[Result] = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("seed_*.json"))
    ]
    results.sort(key=lambda result: result["seed"])
    (folder / "results.md").write_text(_page(results), encoding="utf-8")
    _draw(results, folder / "learning.png")


def line(result: Result) -> str:
    """A run in one line."""
    found = Comparison(**result["evaluation"])
    low, high = found.interval
    return (
        f"seed {result['seed']}: {found.trained:.1%} of {found.hands:,} hands won, untrained {found.untrained:.1%}: "
        f"{100 * found.difference:+.1f} points (95 %: {100 * low:+.1f} to {100 * high:+.1f})"
    )


def _page(results: list[Result]) -> str:
    lines = [
        "# GRPO on remote blackjack",
        "",
        "Written by `train.py`. Both policies play the same hands; the difference is in points, paired by hand.",
        "",
        "| seed | hands | untrained wins | trained wins | difference | 95 % interval |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        found = Comparison(**result["evaluation"])
        low, high = found.interval
        lines.append(
            f"| {result['seed']} | {found.hands:,} | {found.untrained:.2%} | {found.trained:.2%} "
            f"| {100 * found.difference:+.2f} | {100 * low:+.2f} to {100 * high:+.2f} |"
        )
    return "\n".join([*lines, "", "![Win rate while learning](learning.png)"]) + "\n"


def _draw(results: list[Result], path: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for result in results:
        points = result["curve"]
        played = [point["learnt_from"] / 1000 for point in points]
        bounds = [win_interval(point["wins"], point["hands"]) for point in points]
        rates = [100 * point["wins"] / point["hands"] for point in points]
        (drawn,) = axes.plot(played, rates, label=f"seed {result['seed']}")
        axes.fill_between(
            played,
            [100 * low for low, _ in bounds],
            [100 * high for _, high in bounds],
            alpha=0.2,
            color=drawn.get_color(),
        )
    axes.set_xlabel("hands learnt from (thousands)")
    axes.set_ylabel("hands won (%), with 95 % intervals")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
