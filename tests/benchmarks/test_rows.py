"""The table of targets, and the page that repeats it."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from benchmarks.contenders import CONTENDERS
from benchmarks.interpreters import REPOSITORY
from benchmarks.report import targets_as_markdown
from benchmarks.rows import ROWS, Bound, Check, Row
from benchmarks.samples import Configuration, Sample, Samples, Spread

LIMITS_IN_WORDS = {"many": {1.0}, "idle": {1.0}}
"""Rows whose target has no number: CPU a step over that of fewer lanes, and the share of sessions kept."""


def _limits_of(row: Row) -> set[float]:
    return {check.bound.limit for check in row.checks if check.bound is not None}


def _limits_in_text(target: str) -> set[float]:
    asked = re.sub(r"\(.*?\)", "", target).replace("of openenv's 119 KB", "")
    found = re.findall(r"\d+/\d+|\d+\.\d+|\d+", asked)
    return {float(Fraction(number)) for number in found}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_row_checks_every_number_of_its_target_and_no_other(row: Row) -> None:
    assert _limits_of(row) == (LIMITS_IN_WORDS.get(row.key) or _limits_in_text(row.target))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_row_asks_for_more_or_less_as_its_target_says(row: Row) -> None:
    kinds = {check.bound.kind for check in row.checks if check.bound is not None}
    signs = {"≥": "least", "≤": "most", "never rising": "most", "keeps every": "least"}
    assert kinds == {kind for sign, kind in signs.items() if sign in row.target}


def test_the_page_on_performance_has_the_same_targets() -> None:
    page = (REPOSITORY / "docs" / "performance.md").read_text(encoding="utf-8")
    assert targets_as_markdown(ROWS) in page


def test_every_key_is_one_rows() -> None:
    assert len({row.key for row in ROWS}) == len(ROWS)


def test_rows_cite_contenders_that_there_are() -> None:
    cited = [check.measured for row in ROWS for check in row.checks]
    cited += [check.against for row in ROWS for check in row.checks if check.against is not None]
    assert {configuration.contender for configuration in cited} <= CONTENDERS.keys()


@pytest.mark.parametrize(
    ("bound", "kept", "missed"),
    [(Bound(2.5, "least", ""), 2.5, 2.49), (Bound(1.3, "most", ""), 1.3, 1.31)],
    ids=["at least", "at most"],
)
def test_a_bound_includes_its_limit(bound: Bound, kept: float, missed: float) -> None:
    assert bound.allows(kept)
    assert not bound.allows(missed)


def test_a_figure_without_another_contender_is_told_in_its_unit() -> None:
    slow = Configuration("slow", 32)
    samples = Samples([Sample("slow 32", slow, 0, {"batch_ms": 12.0}), Sample("slow 32", slow, 1, {"batch_ms": 14.0})])
    assert Check("", "slow 32", slow, "batch_ms", unit=10.0).figure(samples) == Spread(1.3, 1.2, 1.4)
