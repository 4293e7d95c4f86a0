"""What grows while it should not is found; what wavers is not."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.soak.records import Held, Record, checks_of, held

MINUTES = 60
STEADY = Held(resident=100_000_000, descriptors=16, threads=257)


def records(server: Callable[[int], Held]) -> list[Record]:
    """An hour with a record every minute, whose client never changes."""
    return [Record(60.0 * at, STEADY, server(at), 0.1 * at, 1000 * at) for at in range(MINUTES)]


def grown(server: Callable[[int], Held]) -> list[tuple[str, str]]:
    return [(check.end, check.what) for check in checks_of(records(server)) if not check.kept]


def test_what_stays_as_it_is_has_not_grown() -> None:
    assert grown(lambda _: STEADY) == []
    assert len(checks_of(records(lambda _: STEADY))) == 6, "three of each end"


@pytest.mark.parametrize(
    ("what", "a_minute", "grows"),
    [
        ("resident", 40_000, False),
        ("resident", 80_000, True),
        ("descriptors", 0.2, True),
        ("threads", 0.2, True),
        ("threads", -0.2, False),
    ],
)
def test_steady_growth_is_found(what: str, a_minute: float, grows: bool) -> None:
    def server(at: int) -> Held:
        return replace(STEADY, **{what: getattr(STEADY, what) + int(a_minute * at)})

    assert grown(server) == ([("server", what)] if grows else [])


def test_what_is_only_needed_in_the_first_third_may_be_taken() -> None:
    assert grown(lambda at: replace(STEADY, resident=50_000_000 + 2_500_000 * min(at, 20))) == []


def test_a_moment_with_more_or_less_changes_nothing() -> None:
    chance = random.Random(1)

    def server(at: int) -> Held:
        return replace(STEADY, threads=chance.choice([1, 257, 257, 257, 257, 300])) if at % 3 else STEADY

    assert grown(server) == []


def test_a_process_is_seen_to_hold_what_it_opens() -> None:
    before = held([os.getpid()])
    with Path(os.devnull).open("rb"):
        after = held([os.getpid(), os.getpid()])
    assert after.descriptors == 2 * (before.descriptors + 1)
    assert before.resident > 1_000_000
    assert before.threads >= 1
