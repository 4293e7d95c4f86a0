from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.support.servers import RunningServer, running_server
from tests.support.sockets import FrameSocket, frame_socket

Connect = Callable[..., AbstractContextManager[FrameSocket]]
"""Connects to a server's ``/ws``."""

MISBEHAVING = "tests.support.apps.misbehaving:app"
PATIENCE = 20.0


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server(MISBEHAVING) as server:
        yield server


@pytest.fixture(params=["asgi", "direct"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Either way to a session: a compressed connection stays with ASGI, any other is taken over from uvicorn."""
    return partial(frame_socket, compression="deflate" if request.param == "asgi" else None)


def ready(server: RunningServer) -> dict[str, object]:
    body: dict[str, object] = httpx.get(f"{server.base_url}/ready", trust_env=False, timeout=PATIENCE).json()
    return body


def until(condition: Callable[[], bool]) -> None:
    """Waits for what a server does by itself, with a bound."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_each_socket_has_an_environment_of_its_own(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as one, connect(server.ws_url) as two:
        one.reset(episode_id="one")
        two.reset(episode_id="two")
        one.step()
        assert one.ask({"type": "state"})["data"] == {"episode_id": "one", "step_count": 1}
        assert two.ask({"type": "state"})["data"] == {"episode_id": "two", "step_count": 0}


def test_everything_of_a_session_runs_in_one_thread(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as socket:
        socket.reset()
        socket.ask({"type": "state"})
        assert socket.step(do="threads")["observation"]["value"] == 1


def test_requests_sent_ahead_are_answered_in_order(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as socket:
        socket.send({"type": "reset"})
        for number in range(100):
            socket.send({"type": "step", "data": {"text": str(number)}})
        replies = [socket.receive() for _ in range(101)]
        assert [reply["data"]["observation"]["text"] for reply in replies[1:]] == [str(n) for n in range(100)]


def test_close_is_answered_with_a_normal_close(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as socket:
        socket.reset()
        socket.send({"type": "close"})
        assert socket.close_code() == 1000


@pytest.mark.parametrize("frame", ["{bad", "[1]", b"\x00", '{"type":"bogus"}', "[" * 100_000])
def test_a_bad_frame_costs_nobody_anything(server: RunningServer, frame: str | bytes, connect: Connect) -> None:
    with connect(server.ws_url) as bad, connect(server.ws_url) as good:
        bad.reset(episode_id="bad")
        good.reset(episode_id="good")
        assert bad.ask(frame)["type"] == "error"
        assert bad.ask({"type": "state"})["data"]["episode_id"] == "bad"
        assert good.ask({"type": "state"})["data"]["episode_id"] == "good"


def test_an_environment_that_exits_costs_nobody_anything(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as socket:
        socket.reset()
        assert socket.step(do="exit")["code"] == "EXECUTION_ERROR"
        assert socket.step(do="answer")["done"] is False


def test_a_large_answer_arrives_whole(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as socket:
        socket.reset()
        assert len(socket.step(do="big", number=30_000_000)["observation"]["text"]) == 30_000_000


def test_a_frame_above_the_limit_closes_that_session_alone(server: RunningServer, connect: Connect) -> None:
    with connect(server.ws_url) as big, connect(server.ws_url) as other:
        big.reset()
        big.send({"type": "step", "data": {"text": "x" * 17_000_000}})
        assert big.close_code() == 1009
        assert other.reset()["done"] is False


def test_an_unknown_session_id_is_refused_by_a_frame(server: RunningServer, connect: Connect) -> None:
    with connect(f"{server.ws_url}?session_id=nope") as socket:
        assert socket.receive()["data"]["code"] == "SESSION_ERROR"
        assert socket.close_code() == 1000


def test_an_empty_session_id_asks_for_none(server: RunningServer, connect: Connect) -> None:
    with connect(f"{server.ws_url}?session_id=") as socket:
        assert socket.reset()["done"] is False


def test_an_unknown_path_is_no_websocket(server: RunningServer, connect: Connect) -> None:
    with pytest.raises(InvalidStatus) as caught, connect(f"{server.ws_url}/"):
        pass
    assert caught.value.response.status_code == 403


def test_a_step_that_does_not_return_blocks_nobody_else(connect: Connect) -> None:
    with (
        running_server(MISBEHAVING) as server,
        connect(server.ws_url) as stuck,
        connect(server.ws_url) as other,
    ):
        stuck.reset()
        other.reset()
        stuck.send({"type": "step", "data": {"do": "hang"}})
        for _ in range(20):
            assert other.step()["reward"] == 1.0
            assert httpx.get(f"{server.base_url}/health", trust_env=False, timeout=PATIENCE).status_code == 200
        other.step(do="release")
        assert stuck.receive()["data"]["observation"]["text"] == "released"


def test_the_end_of_a_client_that_sent_ahead_is_noticed_though_its_step_hangs(connect: Connect) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_DISCONNECT_GRACE": "0.1"}
    with running_server(MISBEHAVING, env=settings) as server:
        with connect(server.ws_url) as stuck:
            stuck.reset()
            stuck.send({"type": "step", "data": {"do": "hang"}})
            for _ in range(100):
                stuck.send({"type": "state"})
        until(lambda: ready(server)["active_sessions"] == 0)


def test_a_full_server_says_so_and_closes_with_try_again_later(connect: Connect) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "0.2"}
    with running_server(MISBEHAVING, env=settings) as server, connect(server.ws_url) as first:
        first.reset()
        with connect(server.ws_url) as second:
            data = second.receive()["data"]
            assert (data["code"], data["active_sessions"], data["max_sessions"]) == ("CAPACITY_REACHED", 1, 1)
            assert second.close_code() == 1013
        assert first.step()["reward"] == 1.0


def test_who_waits_for_a_slot_gets_it_and_loses_no_frame(connect: Connect) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with (
        running_server(MISBEHAVING, env=settings) as server,
        connect(server.ws_url) as first,
        connect(server.ws_url) as second,
    ):
        first.reset()
        second.send({"type": "reset", "data": {"episode_id": "second"}})
        second.send({"type": "state"})
        first.send({"type": "close"})
        assert second.receive()["type"] == "observation"
        assert second.receive()["data"]["episode_id"] == "second"


def test_a_factory_that_fails_is_told_and_logged(connect: Connect) -> None:
    with running_server(MISBEHAVING, env={"TEST_CONSTRUCTOR": "raise"}) as server:
        with connect(server.ws_url) as socket:
            data = socket.receive()["data"]
            assert (data["code"], data["factory_name"]) == ("FACTORY_ERROR", "MisbehavingEnvironment")
            assert socket.close_code() == 1000
        assert "RuntimeError: no environment today" in server.log()


def test_with_eight_hung_sessions_a_hundred_others_step_on(connect: Connect) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "108", "OPENENV_GYM_STEP_TIMEOUT": "6", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server, ExitStack() as stack:
        hung, others = [[stack.enter_context(connect(server.ws_url)) for _ in range(count)] for count in (8, 100)]
        for socket in hung + others:
            socket.reset()
        for socket in hung:
            socket.send({"type": "step", "data": {"do": "hang"}})
        for round_number in range(1, 4):
            for socket in others:
                socket.send({"type": "step", "data": {}})
            assert all(socket.receive()["data"]["reward"] == 1.0 for socket in others), round_number

        for socket in hung:
            assert socket.receive()["data"]["code"] == "EXECUTION_ERROR"
            assert socket.close_code() == 1011
        state = ready(server)
        assert (state["ready"], state["hung_sessions"], state["active_sessions"]) == (False, 8, 100)
        assert len(set(_hung_ids(server))) == 8
        for socket in [stack.enter_context(connect(server.ws_url)) for _ in range(8)]:
            assert socket.reset()["done"] is False

        others[0].step(do="release")
        until(lambda: ready(server)["hung_sessions"] == 0)


def test_a_client_that_vanishes_in_mid_step_gives_its_slot_back(connect: Connect) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_DISCONNECT_GRACE": "0.1", "OPENENV_GYM_CAPACITY_WAIT": "20"}
    with running_server(MISBEHAVING, env=settings) as server:
        with connect(server.ws_url) as socket:
            socket.reset()
            socket.send({"type": "step", "data": {"do": "hang"}})
        with connect(server.ws_url) as following:
            assert following.reset()["done"] is False


def test_a_server_that_is_told_to_end_closes_its_environments(connect: Connect) -> None:
    with running_server(MISBEHAVING) as server:
        with connect(server.ws_url) as socket:
            socket.reset()
            _terminate(server)
            assert socket.close_code() == 1012
        until(lambda: "closed in 1 thread(s)" in server.log())


def test_a_server_that_dies_is_an_abnormal_close(connect: Connect) -> None:
    with running_server(MISBEHAVING) as server, connect(server.ws_url) as socket:
        socket.reset()
        socket.send({"type": "step", "data": {"do": "die"}})
        assert socket.close_code() is None


def test_a_blocking_async_environment_delays_async_sessions_only(tmp_path: Path, connect: Connect) -> None:
    gate = tmp_path / "gate"
    with (
        running_server("tests.support.apps.asynchronous:app") as server,
        connect(server.ws_url) as blocking,
        connect(server.ws_url) as delayed,
    ):
        blocking.reset()
        delayed.reset()
        blocking.send({"type": "step", "data": {"do": "block", "gate": str(gate)}})
        delayed.send({"type": "step", "data": {}})
        until(lambda: "has blocked the loop" in server.log())
        assert httpx.get(f"{server.base_url}/health", trust_env=False, timeout=PATIENCE).status_code == 200
        gate.touch()
        assert delayed.receive()["data"]["reward"] == 1.0
        assert blocking.receive()["data"]["reward"] == 1.0
        for socket in (blocking, delayed):
            socket.send({"type": "close"})
        until(lambda: server.log().count("closed on the same loop") == 2)


def test_async_sessions_run_beside_each_other(connect: Connect) -> None:
    with (
        running_server("tests.support.apps.asynchronous:app", env={"OPENENV_GYM_STEP_TIMEOUT": "4"}) as server,
        connect(server.ws_url) as waiting,
        connect(server.ws_url) as other,
    ):
        waiting.reset()
        other.reset()
        waiting.send({"type": "step", "data": {"do": "forever"}})
        assert other.step()["reward"] == 1.0
        assert other.step(do="raise")["code"] == "EXECUTION_ERROR"
        assert other.step(do="cancel")["code"] == "EXECUTION_ERROR"
        assert waiting.receive()["data"]["code"] == "EXECUTION_ERROR"
        assert waiting.close_code() == 1011
        assert other.step()["reward"] == 1.0


def test_inline_environments_are_served_and_slow_ones_are_logged(connect: Connect) -> None:
    with running_server("tests.support.apps.inline:app") as server, connect(server.ws_url) as socket:
        socket.reset()
        assert socket.step(seconds=0.05)["observation"]["steps"] == 1
        assert "held up the whole server" in server.log()


def test_arrays_go_in_and_out(connect: Connect) -> None:
    with running_server("tests.support.apps.arrays:app") as server, connect(server.ws_url) as socket:
        assert socket.reset()["observation"]["position"] == [0.0, 0.0]
        data = socket.step(force=[0.5, -1.0])
        assert (data["observation"]["position"], data["reward"]) == ([0.5, -1.0], 0.5)
        assert socket.step(force=[[1.0], [1.0, 2.0]])["code"] == "VALIDATION_ERROR"
        assert socket.step(force="x")["code"] == "VALIDATION_ERROR"


def test_production_leaves_agents_the_tools_only(connect: Connect) -> None:
    with (
        running_server("tests.support.apps.tools:app", env={"OPENENV_MODE": "production"}) as server,
        connect(server.ws_url) as socket,
    ):
        assert socket.ask({"type": "reset"})["data"]["code"] == "UNKNOWN_TYPE"
        assert socket.ask({"type": "state"})["data"]["code"] == "UNKNOWN_TYPE"
        assert socket.step(type="call_tool", tool_name="add", arguments={"a": 1, "b": 2})["code"] == "UNKNOWN_TYPE"
        params = {"name": "add", "arguments": {"a": 1, "b": 2}}
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 1}
        assert socket.ask({"type": "mcp", "data": call})["data"]["result"]["data"] == 3


def test_no_uncaught_fault_is_left_in_the_log(server: RunningServer) -> None:
    assert "A connection ended by a fault of the server" not in server.log()
    assert "Exception in ASGI application" not in server.log()


def _hung_ids(server: RunningServer) -> list[str]:
    return [line.split("Session ")[1].split(" hangs")[0] for line in server.log().splitlines() if " hangs in " in line]


def _terminate(server: RunningServer) -> None:
    os.kill(server.pid, signal.SIGTERM)
