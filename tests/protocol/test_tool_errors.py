from __future__ import annotations

import pickle

import pytest
from openenv_gym_protocol import tool_errors
from openenv_gym_protocol.errors import FailureClass
from openenv_gym_protocol.tool_errors import ToolCallError, ToolRaised, tool_error
from openenv_gym_protocol.tools import ToolErrorType


@pytest.mark.parametrize(
    ("kind", "name", "failure"),
    [
        ("execution_error", "ToolRaised", FailureClass.ENVIRONMENT),
        ("transport_error", "ToolUnavailable", FailureClass.INFRASTRUCTURE),
        ("timeout", "ToolTimeout", FailureClass.TIMEOUT),
        ("tool_not_found", "ToolNotFound", FailureClass.VALIDATION),
        ("invalid_args", "InvalidToolArguments", FailureClass.VALIDATION),
    ],
)
def test_every_kind_has_its_class_and_failure_class(kind: str, name: str, failure: FailureClass) -> None:
    error = pickle.loads(pickle.dumps(tool_error(kind, "why", "look")))
    assert type(error) is getattr(tool_errors, name)
    assert (error.failure, error.tool_name, error.message) == (failure, "look", "Tool 'look' failed: why")
    assert isinstance(error, RuntimeError)


def test_no_kind_is_left_out() -> None:
    assert {type(tool_error(kind, "", "t")) for kind in ToolErrorType} == set(ToolCallError.__subclasses__())


@pytest.mark.parametrize("kind", [None, "something new"])
def test_an_unknown_kind_is_the_tools_failure(kind: str | None) -> None:
    assert type(tool_error(kind, "", "t")) is ToolRaised
