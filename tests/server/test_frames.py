from __future__ import annotations

import json
from typing import Any

import pytest
from openenv_gym_protocol.errors import (
    CapacityReached,
    FactoryError,
    InvalidMessage,
    OpenEnvGymError,
    SessionError,
)
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.frames import error_frame, exchange, exchange_at_once
from openenv_gym_server.loops import run_to_end

from tests.support.apps.misbehaving import Answer, Command, MisbehavingEnvironment


class Session:
    """Answers frames as a session does, without a worker.

    Args:
        at_once: As workers without an event loop do.
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.host = Host(Contract(define(MisbehavingEnvironment, Command, Answer), ServerConfig()), "session-1")
        run_to_end(self.host.construct())

    def ask(self, message: Any) -> Any:
        frame = message if isinstance(message, str | bytes) else json.dumps(message)
        text = exchange_at_once(self.host, frame) if self.at_once else run_to_end(exchange(self.host, frame))
        return None if text is None else json.loads(text)

    def do(self, command: str, **fields: Any) -> Any:
        return self.ask({"type": "step", "data": {"do": command, **fields}})


@pytest.fixture(params=[False, True], ids=["awaiting", "at once"])
def session(request: pytest.FixtureRequest) -> Session:
    session = Session(at_once=request.param)
    session.ask({"type": "reset"})
    return session


def test_an_episode_is_answered_frame_by_frame(session: Session) -> None:
    assert session.ask({"type": "reset", "data": {"seed": 1, "episode_id": "e"}})["type"] == "observation"
    assert session.do("answer", text="hi") == {
        "type": "observation",
        "data": {"observation": {"metadata": {}, "text": "hi", "value": None}, "reward": 1.0, "done": False},
    }
    assert session.ask({"type": "state"}) == {"type": "state", "data": {"episode_id": "e", "step_count": 1}}


def test_close_has_no_answer(session: Session) -> None:
    assert session.ask({"type": "close"}) is None


def test_truncated_travels_in_the_metadata_and_only_when_it_is_true(session: Session) -> None:
    assert "metadata" not in session.do("answer")["data"]
    assert session.do("truncate")["data"]["metadata"] == {"truncated": True}


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{bad", "INVALID_JSON"),
        ("", "INVALID_JSON"),
        ("[" * 100_000, "INVALID_JSON"),
        (b"\x00\xff", "INVALID_JSON"),
        ('{"type":"step","data":{"text":"\\ud800"}}', "INVALID_JSON"),
        ("[1]", "VALIDATION_ERROR"),
        ("null", "VALIDATION_ERROR"),
        ('"x"', "VALIDATION_ERROR"),
        ("5", "VALIDATION_ERROR"),
        ("NaN", "VALIDATION_ERROR"),
        ("{}", "UNKNOWN_TYPE"),
        ('{"type":"bogus"}', "UNKNOWN_TYPE"),
        ('{"type":["step"]}', "UNKNOWN_TYPE"),
        ('{"type":"reset","data":null}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":[]}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{"seed":"abc"}}', "VALIDATION_ERROR"),
        ('{"type":"reset","data":{},"more":1}', "VALIDATION_ERROR"),
        ('{"type":"step"}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"unknown":1}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"number":"x"}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"number":NaN}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"text":"forbidden"}}', "VALIDATION_ERROR"),
        ('{"type":"step","data":{"text":"crash"}}', "EXECUTION_ERROR"),
        ('{"type":"state","data":{}}', "VALIDATION_ERROR"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else repr(value),
)
def test_a_bad_frame_is_answered_with_an_error_and_the_session_goes_on(
    session: Session, frame: str | bytes, code: str
) -> None:
    before = session.ask({"type": "state"})
    reply = session.ask(frame)
    assert (reply["type"], reply["data"]["code"]) == ("error", code)
    assert reply["data"]["message"]
    assert session.ask({"type": "state"}) == before


@pytest.mark.parametrize(
    "command",
    ["raise", "assert", "exit", "none", "dict", "nan_reward", "infinite_reward", "raise_surrogate", "bytes", "object"],
)
def test_a_failing_step_is_an_execution_error_and_the_session_goes_on(session: Session, command: str) -> None:
    reply = session.do(command)
    assert (reply["type"], reply["data"]["code"]) == ("error", "EXECUTION_ERROR")
    assert session.do("answer")["type"] == "observation"


def test_an_answer_nested_too_deeply_is_an_execution_error(session: Session) -> None:
    assert session.do("nest", number=5_000)["data"]["code"] == "EXECUTION_ERROR"
    assert session.do("answer")["type"] == "observation"


def test_a_step_before_reset_or_after_done_is_what_the_environment_says() -> None:
    fresh = Session(at_once=True)
    assert "Call reset first." in fresh.do("answer")["data"]["message"]
    fresh.ask({"type": "reset"})
    assert fresh.do("done")["data"]["done"]
    assert "over" in fresh.do("answer")["data"]["message"]


def test_a_failing_reset_leaves_the_session_usable(session: Session) -> None:
    assert session.ask({"type": "reset", "data": {"fail": True}})["data"]["code"] == "EXECUTION_ERROR"
    assert session.ask({"type": "reset"})["type"] == "observation"


def test_nan_in_an_observation_is_null(session: Session) -> None:
    assert session.do("nan")["data"]["observation"]["value"] is None


def test_numpy_values_are_plain_json(session: Session) -> None:
    data = session.do("numpy")["data"]
    assert data["observation"]["value"] == {"array": [0, 1, 2], "scalar": 0.5}
    assert data["reward"] == 0.25


def test_an_observation_with_a_lone_surrogate_fails_rather_than_arrive_changed(session: Session) -> None:
    assert session.do("surrogate")["data"]["code"] == "EXECUTION_ERROR"
    assert session.ask({"type": "state"})["type"] == "state"


def test_an_exception_with_a_lone_surrogate_is_told_with_its_escape(session: Session) -> None:
    assert "bad \\udfff text" in session.do("raise_surrogate")["data"]["message"]


def test_a_refused_value_is_shown_with_its_place(session: Session) -> None:
    fault = session.do("answer", text="forbidden")["data"]["errors"][0]
    assert (fault["loc"], fault["input"]) == (["text"], "forbidden")


def test_json_rpc_is_answered_as_json_rpc(session: Session) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/list", "id": 7}
    reply = session.ask({"type": "mcp", "data": call})
    assert (reply["type"], reply["data"]["id"]) == ("mcp", 7)
    assert reply["data"]["error"]["code"] == -32603


@pytest.mark.parametrize(
    ("error", "data"),
    [
        (
            CapacityReached("full", active_sessions=2, max_sessions=2),
            {"code": "CAPACITY_REACHED", "active_sessions": 2, "max_sessions": 2},
        ),
        (FactoryError("no", factory_name="E"), {"code": "FACTORY_ERROR", "factory_name": "E"}),
        (SessionError("gone"), {"code": "SESSION_ERROR"}),
        (InvalidMessage("bad", errors=[{"loc": ["a"]}]), {"code": "VALIDATION_ERROR", "errors": [{"loc": ["a"]}]}),
        (InvalidMessage("bad"), {"code": "VALIDATION_ERROR"}),
    ],
)
def test_an_error_frame_carries_the_errors_data(error: OpenEnvGymError, data: dict[str, Any]) -> None:
    assert json.loads(error_frame(error)) == {"type": "error", "data": {"message": error.message, **data}}
