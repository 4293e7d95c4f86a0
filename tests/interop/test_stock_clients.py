"""openenv's own clients against this project's servers: they see what they see at openenv's server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from websockets.sync.client import connect

from tests.support.comparing import Compared
from tests.support.stock import REPOSITORY, StockEnvironment, play, serving

pytestmark = pytest.mark.interop

CALLS: list[list[Any]] = [
    ["reset", {"seed": 1, "episode_id": "x", "foo": [1]}],
    ["step", {"cmd": "hi", "n": 3, "payload": {"a": [1, 2.5, None, "é"]}}],
    ["state", None],
    ["step", {"cmd": "meta"}],
    ["step", {"cmd": "reward int"}],
    ["step", {"cmd": "not finite"}],
    ["step", {"cmd": "raise"}],
    ["step", {"cmd": "hi", "extra": 1}],
    ["step", {"cmd": "hi", "payload": "x" * 50_000}],
    ["step", {"cmd": "done"}],
    ["state", None],
    ["reset", {}],
    ["state", None],
]
SCRIPT = json.dumps(CALLS)


@cache
def told(python: Path, how: str, base_url: str, script: str) -> list[dict[str, Any]]:
    """What openenv's generic client tells of a script; an error's text without the server's own addition."""
    lines = play(python, "generic_client.py", how, base_url, script)
    for line in lines:
        if "text" in line:
            line["text"] = line["text"].partition(" [error ")[0].partition(" (code:")[0]
    return lines


@cache
def played(python: Path, base_url: str, *amounts: str) -> list[dict[str, Any]]:
    """What openenv's typed client sees of a counter."""
    return play(python, "typed_client.py", base_url, *amounts)


@pytest.mark.parametrize("how", ["async", "sync"])
@pytest.mark.parametrize("kind", ["our_servers", "ported_servers"])
def test_the_generic_client_sees_the_same(
    how: str,
    kind: str,
    stock: StockEnvironment,
    stock_servers: dict[str, str],
    request: pytest.FixtureRequest,
    compared: Compared,
) -> None:
    expected = told(stock.python, how, stock_servers["probe_app"], SCRIPT)
    assert told(stock.python, how, request.getfixturevalue(kind)["probe_app"], SCRIPT) == expected
    assert len(expected) == len(CALLS)
    compared.add(len(expected))


@pytest.mark.parametrize("kind", ["our_servers", "ported_servers"])
def test_a_typed_client_sees_the_same(
    kind: str,
    stock: StockEnvironment,
    stock_servers: dict[str, str],
    request: pytest.FixtureRequest,
    compared: Compared,
) -> None:
    amounts = ["1", "3", "0", "2"]
    expected = played(stock.python, stock_servers["counter_app"], *amounts)
    assert played(stock.python, request.getfixturevalue(kind)["counter_app"], *amounts) == expected
    assert len(expected) == len(amounts) + 2
    compared.add(len(expected))


def test_a_full_server_of_ours_is_told_to_openenvs_client(
    stock: StockEnvironment, ported_servers: dict[str, str], compared: Compared
) -> None:
    url = ported_servers["plain_app"].replace("http://", "ws://") + "/ws"
    with connect(url, proxy=None) as holder:
        holder.send('{"type":"reset"}')
        holder.recv(timeout=30)
        (line,) = told(stock.python, "sync", ported_servers["plain_app"], '[["reset", {}]]')
    assert line["raised"] == "RuntimeError"
    compared.add(1)


@pytest.fixture(scope="module")
def blackjack() -> Iterator[str]:
    """The base URL of the blackjack project under this project's server."""
    with serving(sys.executable, ["server.app:app"], cwd=REPOSITORY / "envs" / "blackjack") as urls:
        yield urls["server.app:app"]


@pytest.mark.parametrize("how", ["async", "sync"])
def test_openenvs_client_plays_blackjack_as_gymnasium_does(
    how: str, stock: StockEnvironment, blackjack: str, compared: Compared
) -> None:
    script: list[list[Any]] = []
    expected: list[dict[str, Any]] = []
    with gymnasium.make("Blackjack-v1") as local:
        for seed in range(5):
            hand, _ = local.reset(seed=seed)
            script.append(["reset", {"seed": seed}])
            expected.append({"hand": list(map(int, hand)), "reward": None, "done": False})
            done = False
            while not done:
                action = int(hand[0] < 17)
                hand, reward, done, _, _ = local.step(action)
                script.append(["step", {"action": action}])
                expected.append({"hand": list(map(int, hand)), "reward": reward, "done": done})
    lines = [line["returned"] for line in told(stock.python, how, blackjack, json.dumps(script))]
    seen = [{"hand": line["observation"]["hand"], "reward": line["reward"], "done": line["done"]} for line in lines]
    # The reward of a reset is no reward: a server may send null or 0.
    steps = [(one, other) for one, other in zip(seen, expected, strict=True) if other["reward"] is not None]
    assert [one["hand"] for one in seen] == [other["hand"] for other in expected]
    assert [one for one, _ in steps] == [other for _, other in steps]
    compared.add(len(seen))
