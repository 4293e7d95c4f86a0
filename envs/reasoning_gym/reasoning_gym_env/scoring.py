"""What an answer is worth."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from reasoning_gym_env.expressions import NUMBERS_ONLY, WITH_VARIABLES, NotPlain, check_expression

MOST_CHARACTERS = 16_384
"""Of an answer that is looked at."""


_HUGE = re.compile(r"\s*[+-]?[\d_.]+[eE][+-]?[\d_]{4,}\s*")
"""What a dataset would take minutes to write out, as a fraction."""


@dataclass(frozen=True)
class Score:
    """What an answer is worth.

    Attributes:
        value: From 0 to 1.
        fault: Why it is 0 without the dataset's judgement, or why that was not taken as it is; else empty.
    """

    value: float
    fault: str = ""


def score(dataset: Any, name: str, entry: dict[str, Any], answer: str | None) -> Score:
    """Has a dataset judge an answer.

    Args:
        dataset: The dataset.
        name: The name of the dataset that the question comes from: of a composite's, its own.
        entry: The question as the dataset made it.
        answer: What was answered.

    Returns:
        The dataset's score; 0 with the reason where the answer is not one that it can judge.
    """
    if answer is None:
        return Score(0.0, "there is no answer")
    if len(answer) > MOST_CHARACTERS:
        return Score(0.0, f"the answer has {len(answer)} characters; at most {MOST_CHARACTERS} are looked at")
    if _HUGE.fullmatch(answer):
        return Score(0.0, "the answer is a number with an exponent of more than three digits")
    try:
        if name in NUMBERS_ONLY or name in WITH_VARIABLES:
            check_expression(answer, variables=name in WITH_VARIABLES)
        return _taken(dataset.score_answer(answer, entry))
    except NotPlain as error:
        return Score(0.0, f"the answer is not computed: {error}")
    except Exception as error:  # whatever a dataset's code does with an answer that it did not expect
        return Score(0.0, f"the dataset cannot judge the answer: {type(error).__name__}: {error}"[:300])


def _taken(given: Any) -> Score:
    try:
        value = float(given)
    except (TypeError, ValueError):
        return Score(0.0, f"the dataset's score is {given!r:.60}, which is no number")
    if math.isnan(value):
        return Score(0.0, "the dataset's score is nan")
    if not 0 <= value <= 1:
        return Score(min(max(value, 0.0), 1.0), f"the dataset's score is {value}, outside of 0 to 1")
    return Score(value)
