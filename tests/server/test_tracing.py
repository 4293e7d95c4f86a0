"""Spans of sessions, resets, steps and tool calls, as the real SDK exports them."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import Batch

from tests.support.executions import EXECUTIONS
from tests.support.http import http_client
from tests.support.servers import ROOT, RunningServer, running_server
from tests.support.sockets import SECONDS, frame_socket
from tests.support.vector_client import vector_socket

TRACED = "tests.support.apps.traced:app"
MISBEHAVING = "tests.support.apps.traced:misbehaving_app"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
CALL = {"type": "call_tool", "tool_name": "count", "arguments": {}}


class Spans:
    """The finished spans of a server, each asked for by the session that it is of."""

    def __init__(self, server: RunningServer) -> None:
        self._server = server

    def all(self) -> list[dict[str, Any]]:
        with http_client(self._server) as client:
            found: list[dict[str, Any]] = client.get("/spans").json()
            return [span for span in found if span["name"].startswith(("openenv.", "inside"))]

    def last_session(self, count: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The span of the session that ended last, and those of what it did, once there are so many sessions."""
        give_up = time.monotonic() + SECONDS
        while len(sessions := [span for span in self.all() if span["name"] == "openenv.session"]) < count:
            assert time.monotonic() < give_up
            time.sleep(0.05)  # no event tells of another process: ask again
        name = sessions[-1]["attributes"]["openenv.session_id"]
        own = [span for span in self.all() if span["attributes"].get("openenv.session_id") == name]
        return own[-1], own[:-1]


def failure(span: dict[str, Any]) -> tuple[str, str | None, str | None]:
    status = span["status"]
    return status["status_code"], status.get("description"), span["attributes"].get("openenv.failure_class")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with running_server(getattr(request, "param", TRACED)) as server:
        yield server


def test_a_session_its_reset_its_tool_calls_and_what_they_do_are_one_trace(server: RunningServer) -> None:
    with frame_socket(server.ws_url, additional_headers=TRACEPARENT) as socket:
        socket.reset()
        socket.step(**CALL)
    session, spans = Spans(server).last_session(1)
    assert (session["context"]["trace_id"], session["parent_id"]) == (f"0x{TRACE}", f"0x{PARENT}")
    assert session["attributes"]["openenv.environment"] == "traced"
    assert [span["name"] for span in spans] == ["openenv.reset", "openenv.tool_call"]
    assert spans[1]["attributes"]["openenv.tool"] == "count"
    assert {span["parent_id"] for span in spans} == {session["context"]["span_id"]}
    assert {failure(span) for span in (session, *spans)} == {("UNSET", None, None)}
    (inside,) = [span for span in Spans(server).all() if span["name"] == "inside"]
    assert inside["parent_id"] == spans[1]["context"]["span_id"]


def test_a_tool_that_fails_has_its_failure_class(server: RunningServer) -> None:
    with frame_socket(server.ws_url) as socket:
        socket.reset()
        for name in ("fail", "hang", "missing"):
            socket.step(**CALL | {"tool_name": name})
        socket.step(**CALL | {"arguments": {"bye": 1}})
    _, spans = Spans(server).last_session(1)
    told = [failure(span)[2] for span in spans if span["name"] == "openenv.tool_call"]
    assert told == ["environment", "timeout", "validation", "validation"]


def test_the_tool_call_of_an_mcp_client_belongs_to_its_own_trace_and_names_the_session(server: RunningServer) -> None:
    with frame_socket(server.ws_url) as trainer, http_client(server) as agent:
        trainer.reset()
        create = {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}
        own = trainer.ask({"type": "mcp", "data": create})["data"]["result"]["session_id"]
        params = {"name": "count", "arguments": {}, "session_id": own}
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 1}
        assert agent.post("/mcp", json=call, headers=TRACEPARENT).json()["result"]["data"] == 1
        trainer.step(**CALL)
    session, (_, asked, own_call) = Spans(server).last_session(1)
    assert (asked["context"]["trace_id"], asked["parent_id"]) == (f"0x{TRACE}", f"0x{PARENT}")
    assert [link["context"]["span_id"] for link in asked["links"]] == [session["context"]["span_id"]]
    assert own_call["parent_id"] == session["context"]["span_id"]


def test_each_call_of_an_mcp_session_belongs_to_the_trace_of_its_own_request(server: RunningServer) -> None:
    version = "2025-06-18"
    begin = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    with http_client(server, Accept="application/json, text/event-stream") as agent:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
        own = agent.post("/mcp", json=asked, headers=TRACEPARENT).headers["mcp-session-id"]
        named = {"Mcp-Session-Id": own, "Mcp-Protocol-Version": version}
        agent.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=named)
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count", "arguments": {}}}
        other = {"traceparent": f"00-{'a' * 32}-{PARENT}-01"}
        assert agent.post("/mcp", json=call, headers=named | other).status_code == 200
        agent.delete("/mcp", headers=named)
    session, (asked_span,) = Spans(server).last_session(1)
    assert session["context"]["trace_id"] == f"0x{TRACE}"
    assert asked_span["context"]["trace_id"] == f"0x{'a' * 32}"


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_step_that_fails_has_its_failure_class_in_every_execution(execution: str) -> None:
    settings = {"TEST_EXECUTION": execution}
    with running_server(MISBEHAVING, env=settings) as server:
        with frame_socket(server.ws_url) as socket:
            socket.reset()
            socket.step(do="answer")
            socket.step(do="raise")
            socket.step(number="many")
        _, spans = Spans(server).last_session(1)
    assert [(span["name"], failure(span)[:2]) for span in spans] == [
        ("openenv.reset", ("UNSET", None)),
        ("openenv.step", ("UNSET", None)),
        ("openenv.step", ("ERROR", "environment")),
        ("openenv.step", ("ERROR", "validation")),
    ]


@pytest.mark.parametrize("execution", ["thread", "async"])
def test_a_step_that_the_server_gives_up_is_a_timeout(execution: str) -> None:
    settings = {"TEST_EXECUTION": execution, "OPENENV_GYM_STEP_TIMEOUT": "1.5"}
    with running_server(MISBEHAVING, env=settings) as server:
        with frame_socket(server.ws_url) as socket:
            socket.reset()
            assert socket.ask({"type": "step", "data": {"do": "sleep", "seconds": 4.0}})["type"] == "error"
        _, spans = Spans(server).last_session(1)
    assert failure(spans[-1]) == ("ERROR", "timeout", "timeout")


@pytest.mark.parametrize("server", [MISBEHAVING], indirect=True)
def test_lanes_have_a_session_each_in_the_trace_of_their_connection(server: RunningServer) -> None:
    with vector_socket(server.ws_url, additional_headers=TRACEPARENT) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        socket.step(lanes, [{"do": "answer"}, {"do": "raise"}])
    spans = Spans(server)
    spans.last_session(2)
    found = spans.all()
    assert {span["context"]["trace_id"] for span in found} == {f"0x{TRACE}"}
    names = sorted((span["name"], failure(span)[2] or "") for span in found)
    assert names == [
        ("openenv.reset", ""),
        ("openenv.reset", ""),
        ("openenv.session", ""),
        ("openenv.session", ""),
        ("openenv.step", ""),
        ("openenv.step", "environment"),
    ]


@pytest.mark.parametrize(
    "server", [f"tests.support.apps.traced:{app}" for app in ("values_app", "begun_app")], indirect=True
)
def test_steps_by_values_have_spans_too(server: RunningServer) -> None:
    with vector_socket(server.ws_url) as socket:
        (lane,) = socket.open(1)
        socket.reset([lane], options={"wrong": "raise"})
        action = Batch(columns=[struct.pack("<q", 0)])
        socket.parts(socket.send(frames.Step, lanes=[lane], actions=action))
    _, spans = Spans(server).last_session(1)
    assert [(span["name"], failure(span)[2]) for span in spans] == [
        ("openenv.reset", None),
        ("openenv.step", "environment"),
    ]


def test_a_traceparent_that_is_none_is_left_aside(server: RunningServer) -> None:
    with frame_socket(server.ws_url, additional_headers={"traceparent": "00-nonsense"}) as socket:
        socket.reset()
    session, _ = Spans(server).last_session(1)
    assert session["parent_id"] is None


def test_without_a_provider_sessions_are_as_they_would_be_without_spans() -> None:
    program = (
        "import asyncio\n"
        "from tests.support.apps.misbehaving import app\n"
        "async def run():\n"
        "    async with app.router.lifespan_context(app):\n"
        "        session = await app.state.openenv_gym.sessions.open(socket=True)\n"
        "        print(type(session.host).__name__)\n"
        "asyncio.run(run())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "Host"


def test_a_provider_that_is_not_configured_is_none() -> None:
    program = "import opentelemetry.trace\nfrom openenv_gym_server.tracing import find_tracer\nprint(find_tracer())\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
