"""The comparison itself: it sees what differs, and admits what is written down and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.comparing import Better, unexpected
from tests.support.wire import MISSING, Difference, differences

pytestmark = pytest.mark.interop

STATE: dict[str, Any] = {"type": "state", "data": {"step_count": 1}}
ERROR: dict[str, Any] = {"type": "error", "data": {"message": "boom", "code": "EXECUTION_ERROR"}}


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        ({"a": 1}, {"a": 1.0}, "a"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": {"b": None}}, {"a": {}}, "a.b"),
        ({}, {"a": None}, "a"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a.1"),
        ({"a": [1]}, {"a": [1, 2]}, "a"),
        ({"a": "x"}, {"a": "y"}, "a"),
    ],
)
def test_a_difference_is_seen_with_its_path(left: Any, right: Any, path: str) -> None:
    assert [difference.path for difference in differences(left, right)] == [path]


def test_equal_values_differ_nowhere_and_nan_equals_nan() -> None:
    value = {"a": [1, 2.5, None, True, "x", {"b": float("nan")}]}
    assert list(differences(value, {"a": [1, 2.5, None, True, "x", {"b": float("nan")}]})) == []


def test_a_missing_key_is_told_from_null() -> None:
    assert list(differences({}, {"a": None})) == [Difference("a", MISSING, None)]


def test_another_kind_of_answer_is_unexpected() -> None:
    assert unexpected([STATE], [ERROR]) != []
    assert unexpected([STATE], [STATE, STATE]) != []
    assert unexpected([STATE], [STATE]) == []


def test_the_text_of_an_error_may_differ_but_not_vanish() -> None:
    other = {"type": "error", "data": {**ERROR["data"], "message": "another text"}}
    silent = {"type": "error", "data": {**ERROR["data"], "message": ""}}
    assert unexpected([ERROR], [other]) == []
    assert unexpected([ERROR], [silent]) != []


def test_a_written_difference_must_be_there_on_both_sides() -> None:
    better = Better("why", ("state",), ("error EXECUTION_ERROR",))
    assert unexpected([STATE], [ERROR], better) == []
    assert unexpected([STATE], [STATE], better) != []
    assert unexpected([ERROR], [ERROR], better) != []


def test_a_written_value_must_be_there() -> None:
    other = {"type": "state", "data": {"step_count": 2}}
    better = Better("why", values={"0.data.step_count": 2})
    assert unexpected([STATE], [other], better) == []
    assert unexpected([STATE], [STATE], better) != []
    assert unexpected([STATE], [{"type": "state", "data": {"step_count": 3}}], better) != []
