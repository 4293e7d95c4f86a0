"""openenv's generic client plays a script against a server and tells what it saw, one JSON line a call.

Usage: python generic_client.py async|sync BASE_URL SCRIPT, where SCRIPT is a JSON list of [method, argument].
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import sys
from typing import Any

from openenv.core import GenericEnvClient


def tell(method: str, value: Any) -> None:
    """Writes a line with what a call returned."""
    seen = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value
    print(json.dumps({"call": method, "returned": seen}), flush=True)


def tell_error(method: str, error: Exception) -> None:
    """Writes a line with what a call raised."""
    print(json.dumps({"call": method, "raised": type(error).__name__, "text": str(error)}), flush=True)


def call(client: Any, method: str, argument: Any) -> Any:
    """Makes one call of the script."""
    if method == "reset":
        return client.reset(**argument)
    return client.step(argument) if method == "step" else client.state()


async def play_async(client: Any, script: list[Any]) -> None:
    """Plays by the async client."""
    async with client:
        for method, argument in script:
            try:
                tell(method, await call(client, method, argument))
            except RuntimeError as error:
                tell_error(method, error)


def play_sync(client: Any, script: list[Any]) -> None:
    """Plays by the sync client; the oldest releases have no other."""
    with client.sync() if hasattr(client, "sync") else client as synced:
        for method, argument in script:
            try:
                tell(method, call(synced, method, argument))
            except RuntimeError as error:
                tell_error(method, error)


if __name__ == "__main__":
    how, base_url, script_text = sys.argv[1:]
    made = GenericEnvClient(base_url=base_url)
    if how == "async" and inspect.iscoroutinefunction(getattr(type(made), "__aenter__", None)):
        asyncio.run(play_async(made, json.loads(script_text)))
    else:
        play_sync(made, json.loads(script_text))
