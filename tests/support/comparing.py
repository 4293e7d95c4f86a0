"""Compares two servers' answers key by key, and admits only the differences that are written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.wire import Difference, differences


@dataclass(frozen=True)
class Better:
    """An exchange in which the answers differ on purpose.

    Attributes:
        why: What a user gains.
        stock: The outlines of openenv's answers; see ``outline``.
        ours: The outlines of ours.
        values: Where answers of one outline differ: the path, and our value there.
    """

    why: str
    stock: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def outline(answer: dict[str, Any]) -> str:
    """What kind of answer it is, in a word or two."""
    if "closed" in answer:
        return f"closed {answer['closed']}"
    if "status" in answer:
        return f"{answer['status']} {answer['content_type']}"
    return f"error {answer['data']['code']}" if answer["type"] == "error" else str(answer["type"])


class Compared:
    """How many exchanges a test compared with one release of openenv."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, count: int) -> None:
        """Notes that many more."""
        self.count += count


def unexpected(
    stock: list[dict[str, Any]], ours: list[dict[str, Any]], better: Better | None = None
) -> list[str | Difference]:
    """The differences between two servers' answers to one exchange that are not written down.

    Human text in errors is compared as present or absent: it is no contract. Links into pydantic's documentation
    are compared without its version.

    Args:
        stock: openenv's answers.
        ours: This project's.
        better: What is written down.

    Returns:
        Every unexpected difference, and every expected one that is not there; empty when all is well.
    """
    found: list[str | Difference] = []
    outlines = (tuple(map(outline, stock)), tuple(map(outline, ours)))
    if better and better.stock:
        found += [
            f"{whose} answered {real}, not {expected}"
            for whose, real, expected in zip(
                ("openenv", "openenv-gym"), outlines, (better.stock, better.ours), strict=True
            )
            if real != expected
        ]
    elif outlines[0] != outlines[1]:
        found.append(f"openenv answered {outlines[0]}, openenv-gym {outlines[1]}")
    return found + _value_differences(stock, ours, better.values if better else {})


def _value_differences(
    stock: list[dict[str, Any]], ours: list[dict[str, Any]], expected: Mapping[str, Any]
) -> list[str | Difference]:
    found: list[str | Difference] = []
    met: set[str] = set()
    for index, (one, other) in enumerate(zip(stock, ours, strict=False)):
        if outline(one) != outline(other):
            continue
        for difference in differences(_comparable(one), _comparable(other), str(index)):
            if difference.path in expected and difference.right == expected[difference.path]:
                met.add(difference.path)
            else:
                found.append(difference)
    found += [f"the difference at {path} is not there any more" for path in expected if path not in met]
    return found


def _comparable(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_comparable(value) for value in answer]
    if not isinstance(answer, dict):
        return answer
    cleaned = {key: _comparable(value) for key, value in answer.items()}
    if {"message", "code"} <= cleaned.keys():
        cleaned["message"] = "(text)" if cleaned["message"] else ""
    if {"loc", "url"} <= cleaned.keys():
        cleaned["url"] = re.sub(r"/\d+\.\d+/", "/", cleaned["url"])
    return cleaned
