"""What every driver does: reads orders from its standard input and answers each with a JSON line.

It runs in any interpreter and needs the standard library only. Orders are ``{"do": "run", "seconds": 0.7}``, answered
with the steps taken and what ``Driver.told`` has, and ``{"do": "check"}``, answered with the number of lanes whose next
step is the one that they expect: so no session was lost, shifted or made anew. The end of the input ends the driver.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class Driver(ABC):
    """Steps the lanes of one configuration.

    Attributes:
        lanes: How many there are.
        batches: How often all of them were stepped.
    """

    lanes: int
    batches: int = 0

    @abstractmethod
    def step(self) -> None:
        """Steps every lane once."""

    @abstractmethod
    def kept(self) -> int:
        """Steps every lane once more; the number of those that are where they must be, after ``batches`` steps."""

    def told(self) -> dict[str, int]:
        """What a driver counts besides steps, since it was asked last."""
        return {}

    def close(self) -> None:  # noqa: B027  (most have something, not all)
        """Gives up what it holds."""

    def run(self, seconds: float) -> list[float]:
        """Steps all lanes for some seconds and returns how long each batch took, in seconds."""
        took: list[float] = []
        clock = time.perf_counter
        end = clock() + seconds
        before = clock()
        while before < end:
            self.step()
            after = clock()
            took.append(after - before)
            before = after
        return took


def drive(make: Callable[[dict[str, Any]], Driver]) -> None:
    """Makes a driver of the program's argument, a JSON object, and follows orders until there are no more."""
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = make(json.loads(sys.argv[1]))
    try:
        _answer(answers, {"ready": True})
        for line in sys.stdin:
            order = json.loads(line)
            _answer(answers, _run(driver, order["seconds"]) if order["do"] == "run" else _check(driver))
    finally:
        driver.close()


def _run(driver: Driver, seconds: float) -> dict[str, Any]:
    took = driver.run(seconds)
    driver.batches += len(took)
    return {
        "steps": len(took) * driver.lanes,
        "seconds": sum(took),
        "median_batch_seconds": statistics.median(took),
        "p95_batch_seconds": sorted(took)[int(len(took) * 0.95)],
        "told": driver.told(),
    }


def _check(driver: Driver) -> dict[str, Any]:
    kept = driver.kept()
    driver.batches += 1
    return {"kept": kept}


def _answer(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
