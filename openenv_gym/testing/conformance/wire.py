"""Checks of the frames on ``/ws``."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from openenv_gym_protocol.errors import CapacityReached, ExecutionError

from openenv_gym.client.generic_client import GenericEnvClient
from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.server import (
    PAUSE_SECONDS,
    SLOT_SECONDS,
    Server,
    Session,
    error_of,
    observation_of,
)

_NORMAL = 1000
_CODES = ("INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR", "SESSION_ERROR")


@check("wire")
def reset_frame(server: Server) -> None:
    """A ``reset``, with and without ``data``, is answered by an observation."""
    with server.session() as session:
        observation_of(session.ask({"type": "reset", "data": {}}))
        observation_of(session.ask({"type": "reset"}))


@check("wire")
def reset_keys(server: Server) -> None:
    """A ``reset`` takes a seed and an episode's id, and passes over a key that the environment does not know."""
    with server.session() as session:
        session.reset(seed=1, episode_id="conformance", x_conformance_unknown=1)


@check("wire")
def step_frame(server: Server) -> str | None:
    """A ``step`` is answered by an observation: an object, a reward and whether the episode is over."""
    with server.session() as session:
        session.reset()
        return None if session.step(server.actions[0]) else "the environment refused the action"


@check("wire")
def state_frame(server: Server) -> None:
    """A ``state`` is answered by the state, which counts the steps."""
    with server.session() as session:
        session.reset()
        reply = session.ask({"type": "state"})
        require(reply.get("type") == "state", f"The answer to a state frame has the type {reply.get('type')!r}.")
        data = reply.get("data")
        require(isinstance(data, dict) and isinstance(data.get("step_count"), int), "The state has no step_count.")


@check("wire")
def close_frame(server: Server) -> None:
    """A ``close`` gets no reply: the server closes the connection with 1000."""
    with server.session() as session:
        session.send({"type": "close"})
        code, frames = session.closed()
        require(not frames, f"A frame came after close: {frames[:1]!r:.200}.")
        require(code == _NORMAL, f"The server closed with {code}, not {_NORMAL}.")


@check("wire")
def bad_json(server: Server) -> None:
    """Text that is no JSON is an ``INVALID_JSON`` error, and the session goes on."""
    with server.session() as session:
        error_of(session.ask("{bad"), "INVALID_JSON")
        _require_alive(session)


@check("wire")
def unknown_type(server: Server) -> None:
    """A frame of an unknown type, or without one, is an ``UNKNOWN_TYPE`` error, and the session goes on."""
    with server.session() as session:
        error_of(session.ask({"type": "x-conformance"}), "UNKNOWN_TYPE")
        error_of(session.ask({}), "UNKNOWN_TYPE")
        _require_alive(session)


@check("wire")
def missing_data(server: Server) -> None:
    """A ``step`` without ``data``, or with a list, is a ``VALIDATION_ERROR``, and the session goes on."""
    with server.session() as session:
        error_of(session.ask({"type": "step"}), "VALIDATION_ERROR")
        error_of(session.ask({"type": "step", "data": []}), "VALIDATION_ERROR")
        _require_alive(session)


@check("wire")
def extra_keys(server: Server) -> None:
    """A further key beside ``type`` and ``data`` is a ``VALIDATION_ERROR``, and the session goes on."""
    with server.session() as session:
        error_of(session.ask({"type": "step", "data": {}, "timeout_s": 1}), "VALIDATION_ERROR")
        error_of(session.ask({"type": "state", "data": {}}), "VALIDATION_ERROR")
        _require_alive(session)


@check("wire")
def unknown_action_field(server: Server) -> None:
    """An action with a field that ``/schema`` excludes is a ``VALIDATION_ERROR``, and the session goes on."""
    if server.schemas.action.get("additionalProperties") is not False:
        raise NotApplicable("actions may have any field")
    with server.session() as session:
        session.reset()
        error_of(session.ask({"type": "step", "data": {"x_conformance_unknown": 1}}), "VALIDATION_ERROR")
        _require_alive(session)


@check("wire")
def step_before_reset(server: Server) -> None:
    """A ``step`` before the first ``reset`` is answered, by an observation or an error, and a reset works after it."""
    with server.session() as session:
        session.step(server.actions[0])
        session.reset()


@check("wire")
def not_an_object(server: Server) -> None:
    """JSON that is no object, and a binary frame, are answered by an error; the server may close then."""
    for frame in ("[1]", b"\x00"):
        with server.session() as session:
            session.send(frame)
            error_of(session.receive(), *_CODES)
    with server.session() as session:
        _require_alive(session)


@check("wire")
def pipelined_frames(server: Server) -> None:
    """Frames that are sent at once are answered one by one, in their order."""
    expected = ["observation", "state", "error", "state"]
    with server.session() as session:
        for frame in ({"type": "reset"}, {"type": "state"}, {"type": "x-conformance"}, {"type": "state"}):
            session.send(frame)
        found = [session.receive().get("type") for _ in expected]
    require(found == expected, f"The answers are of the types {found}, not {expected}.")


@check("wire")
def client(server: Server) -> None:
    """openenv-gym's own client plays an episode."""
    options = server.options
    with server.session():
        pass  # there is a slot
    with GenericEnvClient(
        server.base_url, token=options.token, headers=options.headers, message_timeout_s=server.timeout
    ).sync() as env:
        _reset_when_there_is_a_slot(env)
        with suppress(ExecutionError):  # the environment's own refusal
            env.step(server.actions[0])
        env.state()


def _reset_when_there_is_a_slot(env: Any) -> None:
    # A server may still be busy with the end of the last session.
    end = time.monotonic() + SLOT_SECONDS
    while True:
        try:
            env.reset(seed=1)
        except CapacityReached:
            if time.monotonic() > end:
                raise
            time.sleep(PAUSE_SECONDS)  # no event tells of a free slot
        else:
            return


def _require_alive(session: Session) -> None:
    try:
        reply = session.ask({"type": "state"})
    except Problem as problem:
        raise Problem(f"The session did not outlive the error. {problem.message}") from problem
    require(reply.get("type") == "state", f"After the error, state is answered by {reply.get('type')!r}.")
