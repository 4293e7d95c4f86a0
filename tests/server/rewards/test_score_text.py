from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_gym_protocol.errors import UnexpectedReply
from openenv_gym_server.rewards.score_text import Found, find_score, on_scale


def read(answer: str, low: float = 0.0, high: float = 1.0) -> float | None:
    found = find_score(answer)
    return None if found is None else on_scale(found, low, high)


@pytest.mark.parametrize(
    "answer",
    [
        "0.8",
        ".8",
        " 0.80\n",
        "8e-1",
        "I give 0.8.",
        "8/10",
        "8 / 10",
        "8 out of 10",
        "80%",
        "80 %",
        "Score: 0.8",
        "SCORE = 0.8",
        "score 0.8",
        "The score is 0.8",
        "The score is: 8/10",
        "Rating of 4 out of 5",
        "**Score:** 0.8",
        "**Score**: `0.8`",
        "Score (0-1): 0.8",
        "Score [0, 1]: 0.8",
        "Score 0-1: 0.8",
        "final_score = 0.8",
        "Score \u2192 0.8",
        "Step 1 is wrong. Score: 0.8",
        "1. Clear\n2. Short\nScore: 0.8",
        '{"score": 0.8, "why": "2 of 3 tests pass"}',
        '```json\n{"score": "8/10"}\n```',
        "Score: 0.8\nSo my score is 0.80.",
        "<think>Score: 0.1, or 0.2?</think>\nScore: 0.8",
        "gpt4 says 0.8",
    ],
)
def test_an_answer_with_one_score_is_read(answer: str) -> None:
    assert read(answer) == 0.8


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "excellent",
        "Score: none",
        "Score: NaN",
        "Score: inf",
        "score5",
        "Score: 1,000",
        "0,8",
        "0.5-0.7",
        "Score: 0.5 - 0.7",
        "2026-11-29",
        "0.8.1",
        "v0.8",
        "<think>Score: 0.8",
    ],
)
def test_an_answer_without_a_score_has_none(answer: str) -> None:
    assert find_score(answer) is None


@pytest.mark.parametrize(
    "answer", ["Step 1 is wrong, 0.2", "0.2 or 0.8", "Score: 0.8\nScore: 0.3", "Score: 8/10, that is a score of 0.9"]
)
def test_an_answer_with_several_scores_is_an_error(answer: str) -> None:
    with pytest.raises(UnexpectedReply, match="several scores"):
        find_score(answer)


@pytest.mark.parametrize(
    "answer", ["-5", "\u22125", "Score: -5", "Score: - 5", "Score: -\n5", "-5/10", "1.01", "12/10", "150%", "1e9"]
)
def test_a_score_out_of_range_is_an_error(answer: str) -> None:
    with pytest.raises(UnexpectedReply, match="out of range"):
        read(answer)


@pytest.mark.parametrize(
    ("answer", "low", "high", "score"),
    [
        ("8", 0, 10, 8),
        ("8/10", 0, 10, 8),
        ("80/100", 0, 10, 8),
        ("80%", 0, 10, 8),
        ("4/5", 1, 5, 4),
        ("-0.5", -1, 1, -0.5),
        ("-5", float("-inf"), float("inf"), -5),
        ("8/10", float("-inf"), float("inf"), 0.8),
    ],
)
def test_a_score_is_read_on_its_scale(answer: str, low: float, high: float, score: float) -> None:
    assert read(answer, low, high) == score


@pytest.mark.parametrize("answer", ["8/10", "80%", "4/0"])
def test_a_scale_that_does_not_fit_is_an_error(answer: str) -> None:
    with pytest.raises(UnexpectedReply, match="and not from 1 to 5"):
        read(answer, 1, 5)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"verdict (\S+)", Found(0.2, None)),
        (r"[\d.]+", Found(0.9, None)),
        (r"grade (\S+),", Found(3.0, 4.0)),
        (r"nothing (\d)", None),
        (r"(verdict)", None),
        (r"(x)?verdict", None),
    ],
)
def test_a_pattern_finds_the_score_instead(pattern: str, found: Found | None) -> None:
    assert find_score("0.9, or grade 3/4, my verdict 0.2 and score: 1", re.compile(pattern)) == found


@given(st.text(st.sampled_from("score: 019./-%<think>*{}\"'\u2212 \n"), max_size=60))
def test_whatever_is_said_is_a_score_in_range_or_none_or_an_error(answer: str) -> None:
    try:
        score = read(answer)
    except UnexpectedReply:
        return
    assert score is None or 0.0 <= score <= 1.0


@given(st.floats(0, 1, allow_subnormal=False))
def test_a_number_is_read_exactly(number: float) -> None:
    assert read(f"Score: {number!r}") == number


def test_a_long_answer_is_read_in_no_time_and_quoted_in_part() -> None:
    for text in (" " * 50_000, "score " * 20_000, "1" * 50_000, "score:" + " " * 50_000, "0.1-" * 20_000):
        assert find_score(text + "x") is None
    with pytest.raises(UnexpectedReply) as caught:
        find_score("1 2 " + "x" * 10_000)
    assert len(caught.value.message) < 400
