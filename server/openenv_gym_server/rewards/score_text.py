"""From a judge's words to its score, or to an error where they do not say one score."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from openenv_gym_protocol.errors import UnexpectedReply

_DIGITS = r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
_DASH = r"[-\u2212\u2013\u2014]"
_NUMBER = (
    rf"(?<![\w.,/])(?<!\d{_DASH})(?<!\d{_DASH}\s)(?<!\d\s{_DASH})(?<!\d\s{_DASH}\s)(?P<number>(?:(?<!\d\s)[-+\u2212]\s?)?{_DIGITS})"
    rf"(?:\s*(?:/|out\s+of)\s*(?P<scale>{_DIGITS})|\s?(?P<percent>%))?"
    # Not the half of something else: of 0.5.1, 1,000, a date, or a range such as 0.5-0.7.
    rf"(?![\w%]|[.,]\d|\s*/|\s*{_DASH}\s*\.?\d)"
)
_ANY = re.compile(_NUMBER)
_LABELLED = re.compile(
    r"(?<![^\W_])(?:score|rating|grade|reward)\b"  # also after an underscore: final_score
    r"[\"']?(?:\s*\([^()\n]*\)|\s*\[[^\[\]\n]*\])?"  # Score (0-1): ...
    r"(?:\s*(?:is|was|of|=|:|->|\u2192))*\s*[\"']?"
    rf"(?:(?<=\s)|(?<=[:=>\u2192\"'])){_NUMBER}",
    re.IGNORECASE,
)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_EMPHASIS = re.compile(r"[*`]")
_SHOWN = 200
"""How many characters of an answer an error shows."""


class Found(NamedTuple):
    """A score as it was said: a number, and the scale that was said with it (100 for per cent) or None."""

    number: float
    scale: float | None


def find_score(answer: str, pattern: re.Pattern[str] | None = None) -> Found | None:
    """The score in an answer.

    What a model thought between ``<think>`` and ``</think>`` is not its answer. Numbers that are called a score
    (``Score: 0.8``, ``"score": 8``, ``rating of 8/10``) go before others, which count when there is but one.

    Args:
        answer: The judge's words.
        pattern: Finds the score instead: its first group, or all of it.

    Returns:
        The score; None where no number is found.

    Raises:
        UnexpectedReply: There are several, which differ.
    """
    if pattern is not None:
        return _by_pattern(answer, pattern)
    text = _EMPHASIS.sub("", _THOUGHT.sub("", answer))
    for search in (_LABELLED, _ANY):
        found = list(dict.fromkeys(_read(match) for match in search.finditer(text)))
        if len(found) > 1:
            raise UnexpectedReply(f"The judge's answer has several scores: {shown(answer)}")
        if found:
            return found[0]
    return None


def on_scale(found: Found, low: float, high: float) -> float:
    """A score as a number between two bounds, either of which may be infinite.

    Raises:
        UnexpectedReply: It lies outside, or was said on a scale that does not fit.
    """
    score = found.number
    if found.scale is not None and found.scale != high:
        score = _rescaled(found, low, high)
    if not low <= score <= high:
        raise UnexpectedReply(f"The judge's score {score:g} is out of range: it must be from {low:g} to {high:g}.")
    return score


def _rescaled(found: Found, low: float, high: float) -> float:
    scale = found.scale or 0.0
    if scale <= 0.0 or (low != 0.0 and math.isfinite(low)):
        raise UnexpectedReply(f"The judge's score is {found.number:g} of {scale:g}, and not from {low:g} to {high:g}.")
    return found.number / scale * (high if math.isfinite(high) else 1.0)


def shown(answer: str) -> str:
    """An answer's beginning, as errors quote it."""
    return repr(answer if len(answer) <= _SHOWN else f"{answer[:_SHOWN]}...")


def _read(match: re.Match[str]) -> Found:
    # Between its sign and its digits may stand white space of any kind, a line's end too.
    number = float("".join(match["number"].split()).replace("\u2212", "-"))
    if match["percent"]:
        return Found(number, 100.0)
    return Found(number, float(match["scale"]) if match["scale"] else None)


def _by_pattern(answer: str, pattern: re.Pattern[str]) -> Found | None:
    match = pattern.search(answer)
    if match is None:
        return None
    number = _ANY.fullmatch((match[1] if match.re.groups else match[0]) or "")
    return None if number is None else _read(number)
