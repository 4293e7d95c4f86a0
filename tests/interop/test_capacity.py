"""A full server under both: the same frame tells the client, and the slot is free after a close."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.comparing import Compared
from tests.support.wire import REPLY_TIMEOUT, record_frames

pytestmark = pytest.mark.interop


def refusal(base_url: str) -> tuple[dict[str, Any], int | None]:
    """Fills a server of one session; returns what a second client is told, and its close code."""
    url = base_url.replace("http://", "ws://") + "/ws"
    with connect(url, compression=None, proxy=None) as first:
        first.send('{"type":"reset"}')
        first.recv(timeout=REPLY_TIMEOUT)
        with connect(url, compression=None, proxy=None) as second:
            told: dict[str, Any] = json.loads(second.recv(timeout=REPLY_TIMEOUT))
            with pytest.raises(ConnectionClosed) as closed:
                second.recv(timeout=REPLY_TIMEOUT)
        first.send('{"type":"state"}')
        first.recv(timeout=REPLY_TIMEOUT)
    return told, closed.value.rcvd.code if closed.value.rcvd else None


@pytest.mark.parametrize("kind", ["our_servers", "ported_servers"])
def test_a_full_server_says_so_in_the_same_frame_and_closes_as_try_again_later(
    kind: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    stock, stock_code = refusal(stock_servers["plain_app"])
    ours, our_code = refusal(request.getfixturevalue(kind)["plain_app"])
    assert {**stock["data"], "message": ""} == {**ours["data"], "message": ""}
    assert (ours["data"]["active_sessions"], ours["data"]["max_sessions"]) == (1, 1)
    assert (stock_code, our_code) == (1000, 1013)
    compared.add(1)


@pytest.mark.parametrize("kind", ["stock_servers", "our_servers", "ported_servers"])
def test_a_closed_session_gives_its_slot_back(kind: str, request: pytest.FixtureRequest) -> None:
    base_url = request.getfixturevalue(kind)["plain_app"]
    for _ in range(3):
        assert record_frames(base_url, [{"type": "reset"}, {"type": "close"}])[0]["type"] == "observation"


@pytest.mark.parametrize("ending", ["by a close request", "by leaving"])
@pytest.mark.parametrize("kind", ["stock_servers", "our_servers", "ported_servers"])
def test_an_environment_is_closed_with_its_session(kind: str, ending: str, request: pytest.FixtureRequest) -> None:
    base_url = request.getfixturevalue(kind)["probe_app"]
    episode = f"ended {ending}"
    last = [{"type": "close"}] if ending == "by a close request" else []
    record_frames(base_url, [{"type": "reset", "data": {"episode_id": episode}}, *last])
    asked = 0
    while not was_closed(base_url, episode):
        asked += 1
        assert asked < 200


def was_closed(base_url: str, episode: str) -> bool:
    """Whether that server closed the environment of an episode."""
    (answer,) = record_frames(base_url, [{"type": "step", "data": {"cmd": "closed", "payload": episode}}])
    return bool(answer["data"]["observation"]["data"])
