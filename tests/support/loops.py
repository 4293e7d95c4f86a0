"""The event loops that a server may run on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import uvloop

LOOPS = ("asyncio", "uvloop")


def run_on(loop: str, scene: Coroutine[Any, Any, None], seconds: float) -> None:
    """Runs a scene to its end on one of ``LOOPS``, for so long at most."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop == "uvloop" else None) as runner:
        runner.run(asyncio.wait_for(scene, seconds))
