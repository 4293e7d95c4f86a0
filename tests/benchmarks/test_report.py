"""What a run says of its figures."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from benchmarks.report import Line, as_data, lines_of, mark_of, markdown, printed, row_mark, target_table
from benchmarks.rows import Bound, Check, Row
from benchmarks.samples import Configuration, Sample, Samples, Spread

OURS = Configuration("vector inline", 32)
OPENENV = Configuration("openenv", 32)
TARGET = Check("32 lanes, steps/s", "typed 32", OURS, "rate", OPENENV, Bound(3.0, "least", "≥ 3"))
SHOWN = Check("32 lanes, CPU a step", "typed 32", OURS, "cpu", OPENENV)
ROW = Row("vector", "vector wire", "≥ 3×", [TARGET, SHOWN])
FACTS: dict[str, Any] = {
    "cpu": "a processor", "cores": 2, "kernel": "6.1", "python": "3.11.7", "date": "2026-11-29T23:00:00+00:00",
    "commit": "0123456789abcdef", "uncommitted_changes": False,
}  # fmt: skip


def _samples(*pairs: tuple[float, float]) -> Samples:
    samples = Samples()
    for number, (ours, theirs) in enumerate(pairs):
        samples.add([Sample("typed 32", OURS, number, {"rate": ours, "cpu": 20.0})])
        samples.add([Sample("typed 32", OPENENV, number, {"rate": theirs, "cpu": 200.0})])
    return samples


@pytest.mark.parametrize(
    ("check", "figure", "mark"),
    [
        (TARGET, Spread(3.0, 1.0, 4.0), "✔"),
        (TARGET, Spread(2.9, 2.0, 9.0), "✘"),
        (SHOWN, Spread(0.1, 0.1, 0.1), "·"),
        (TARGET, None, "–"),
    ],
    ids=["the median keeps it", "the median misses it", "no target", "not measured"],
)
def test_a_check_is_marked_by_its_median(check: Check, figure: Spread | None, mark: str) -> None:
    assert mark_of(check, figure) == mark


@pytest.mark.parametrize(
    ("marks", "mark"),
    [(["✔", "✘", "–"], "✘"), (["✔", "–"], "–"), (["✔", "✔"], "✔")],
    ids=["one missed", "one not measured", "all kept"],
)
def test_a_row_is_as_good_as_its_worst_target(marks: list[Any], mark: str) -> None:
    lines = [Line(ROW, TARGET, None, each) for each in marks]
    assert row_mark([*lines, Line(ROW, SHOWN, None, "·")]) == mark


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Spread(5.234, 4.9, 15.61), "5.23× (4.90–15.6)"),
        (Spread(1234.4, 900.0, 1500.0), "1,234× (900–1,500)"),
        (Spread(1.0, 1.0, 1.0), "1.00×"),
        (None, "not measured"),
    ],
)
def test_a_figure_is_printed_with_its_spread(figure: Spread | None, text: str) -> None:
    assert printed(figure, "×") == text


def test_the_table_names_the_work_once_and_marks_every_check() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(target_table(lines_of([ROW], _samples((90.0, 30.0), (80.0, 20.0)))))
    text = console.export_text()
    assert text.count("vector wire") == 1
    assert "≥ 3" in text
    assert "3.50× (3.00–4.00)" in text
    assert "✔" in text
    assert "·" in text


def test_the_page_has_the_targets_the_figures_and_the_machine() -> None:
    samples = _samples((60.0, 30.0))
    page = markdown(lines_of([ROW], samples), samples, FACTS)
    assert "| **vector wire** | 32 lanes, steps/s | ≥ 3 | 2.00× | ✘ |" in page
    assert "commit 0123456789ab." in page
    assert "| openenv, both ends | 32 | 30.0 | 200 |" in page


def test_the_data_has_every_check_and_every_sample() -> None:
    samples = _samples((60.0, 30.0), (60.0, 20.0))
    data = as_data(lines_of([ROW], samples), samples, FACTS)
    assert [target["mark"] for target in data["targets"]] == ["✘", "·"]
    assert data["targets"][0]["median"] == 2.5
    assert data["samples"][0] == {
        "group": "typed 32", "contender": "vector inline", "lanes": 32, "round": 0, "rate": 60.0, "cpu": 20.0,
    }  # fmt: skip
    assert len(data["samples"]) == 4
    assert data["machine"] == FACTS
