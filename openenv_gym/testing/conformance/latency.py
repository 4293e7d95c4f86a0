"""Figures: they are told, and never a failure."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from openenv_gym.testing.conformance.checks import NotApplicable, check
from openenv_gym.testing.conformance.server import Server

_STEPS = 100
_RESETS = 10


@check("latency")
def step_latency(server: Server) -> str:
    """How long a step takes, over the network: the median, and what 95 of 100 stay below."""
    times: list[float] = []
    with server.session() as session:
        session.reset()
        for number in range(_STEPS):
            action = server.actions[number % len(server.actions)]
            data, seconds = _timed(lambda action=action: session.step(action))  # type: ignore[misc]
            if data is None or data["done"]:
                session.reset()
            if data is not None:
                times.append(seconds)
    return _told(server, "step", times)


@check("latency")
def reset_latency(server: Server) -> str:
    """How long a reset takes, over the network."""
    with server.session() as session:
        return _told(server, "reset", [_timed(session.reset)[1] for _ in range(_RESETS)])


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - began


def _told(server: Server, what: str, seconds: list[float]) -> str:
    if len(seconds) < 2:
        raise NotApplicable(f"no {what} was answered")
    parts = statistics.quantiles(seconds, n=20, method="inclusive")
    figures = {"p50": parts[9] * 1000, "p95": parts[18] * 1000}
    server.figures.update({f"{what}_{name}_ms": round(value, 3) for name, value in figures.items()})
    return ", ".join(f"{name} {value:.2f} ms" for name, value in figures.items())
