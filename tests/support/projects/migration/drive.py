"""Drives a project by its own client, and tells what came back, one JSON line a call.

Usage: python drive.py PROJECT BASE_URL. Nothing here says which package the client stands on.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

WHY = ("The line ends at 50.", "There is no entry 9.", "tear", "text")
"""What the environments' own messages say, or a validator's of them."""


def tell(value: Any) -> None:
    """Writes a line with what a call returned."""
    print(json.dumps(_plain(value), sort_keys=True), flush=True)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return {"fields": value.model_dump()}
    if dataclasses.is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return {"returned": [_plain(each) for each in value] if isinstance(value, list) else value}


def tell_failure(call: Callable[[], Any]) -> None:
    """Makes a call that has to fail; the classes of the exceptions are the packages' own."""
    try:
        call()
    except Exception as error:
        text = str(error)
        print(json.dumps({"raised": True, "says_why": any(each in text for each in WHY)}), flush=True)


def number_line(package: Any, url: str) -> None:
    """Walks to the goal, takes a wrong step and goes on."""
    with package.NumberLineEnv(base_url=url).sync() as env:
        first = env.reset(seed=3, episode_id="first", start=5)
        tell(first)
        for move in (1, -2, 2):
            tell(env.step(package.NumberLineAction(move=move)))
        tell(env.state())
        tell(env.reset(seed=4, episode_id="edge", start=50))
        tell_failure(lambda: env.step(package.NumberLineAction(move=2)))
        result = env.reset(seed=5, episode_id="goal")
        moves = 0
        while not result.done and moves < 20:
            move = 1 if result.observation.place >= 0 else -1
            better = env.step(package.NumberLineAction(move=move))
            if better.reward < 0:
                better = env.step(package.NumberLineAction(move=-2 * move))
            result, moves = better, moves + 1
            tell(result)
        tell(env.state())


def ledger(package: Any, url: str) -> None:
    """Keeps a ledger, makes every mistake that can be made with a tool, and goes on."""
    with package.LedgerEnv(base_url=url).sync() as env:
        tell(env.reset(seed=40, episode_id="ledger"))
        tell([tool.model_dump() for tool in env.list_tools()])
        tell(env.call_tool("enter", text="bread", amount=-30))
        tell(env.call_tool("enter", text="stamps"))
        tell(env.call_tool("strike", number=1))
        tell_failure(lambda: env.call_tool("strike", number=9))
        tell_failure(lambda: env.call_tool("tear"))
        tell_failure(lambda: env.call_tool("enter", amount=1))
        tell(env.call_tool("look"))
        tell(env.state())
        tell(env.reset())
        tell(env.call_tool("look"))


def essay(package: Any, url: str) -> None:
    """Writes two essays at once, in sessions that know nothing of each other."""
    clients = [package.EssayEnv(base_url=url).sync() for _ in range(2)]
    texts = [["Rain falls.", "The rain is cold and it does not end this year.", "Rain falls."], ["Bread is good."] * 2]
    try:
        for number, client in enumerate(clients):
            client.connect()
            tell(client.reset(seed=number, episode_id=f"essay {number}", sentences=len(texts[number])))
        for turn in range(3):
            for client, text in zip(clients, texts, strict=True):
                if turn < len(text):
                    tell(client.step(package.EssayAction(sentence=text[turn])))
                tell(client.state())
    finally:
        for client in clients:
            client.close()


if __name__ == "__main__":
    name, address = sys.argv[1:]
    {"number_line": number_line, "ledger": ledger, "essay": essay}[name](import_module(name), address)
