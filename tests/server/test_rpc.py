"""What callers of the JSON-RPC subset are told of each failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openenv_gym_protocol.errors import (
    CapacityReached,
    ExecutionError,
    FactoryError,
    InvalidMessage,
    OpenEnvGymError,
    SessionLost,
    StepTimeout,
)
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation
from openenv_gym_server import rpc
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.loops import run_to_end
from openenv_gym_server.mcp import MCPEnvironment


class Fragile(MCPEnvironment):
    def __init__(self) -> None:
        super().__init__([self.exit, self.surrogate])

    def exit(self) -> None:
        raise SystemExit(3)

    def surrogate(self) -> str:
        return "\ud800"


@pytest.fixture
def host() -> Host:
    host = Host(Contract(define(Fragile, CallToolAction, CallToolObservation), ServerConfig()), "session-1")
    run_to_end(host.construct())
    return host


def asked(host: Host, method: str, **params: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "method": method, "params": params, "id": 7}
    answer: dict[str, Any] = json.loads(run_to_end(rpc.exchange(host, json.dumps(call))))
    assert answer["id"] == 7
    return answer


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (
            CapacityReached("full", active_sessions=2, max_sessions=2),
            -32000,
            {"active_sessions": 2, "max_sessions": 2},
        ),
        (FactoryError("failed", factory_name="Shop"), -32000, {"factory_name": "Shop"}),
        (SessionLost("gone"), -32602, None),
        (InvalidMessage("wrong"), -32602, None),
        (ExecutionError("failed"), -32603, None),
        (StepTimeout("late"), -32603, None),
    ],
)
def test_each_failure_has_openenvs_code(error: OpenEnvGymError, code: int, data: Any) -> None:
    told = rpc.refusal_of(error).response(1)["error"]
    assert (told["code"], told["message"], told["data"]) == (code, error.message, data)


def test_a_tool_that_ends_the_process_fails_its_call_alone(host: Host) -> None:
    error = asked(host, "tools/call", name="exit")["error"]
    assert error["code"] == -32603
    assert "SystemExit" in error["message"]
    assert len(asked(host, "tools/list")["result"]["tools"]) == 2


def test_a_result_that_cannot_be_written_is_an_error_with_the_calls_id(host: Host) -> None:
    assert asked(host, "tools/call", name="surrogate")["error"]["code"] == -32603
