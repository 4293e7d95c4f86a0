"""Tools as actions: the names and shapes of the wire."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.tools import (
    RESERVED_TOOL_NAMES,
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
    function_schema,
)
from pydantic import ValidationError


def test_a_call_is_written_with_its_type_and_empty_arguments() -> None:
    assert CallToolAction(tool_name="echo").model_dump() == {
        "metadata": {},
        "type": "call_tool",
        "tool_name": "echo",
        "arguments": {},
    }


def test_a_list_request_has_no_key_but_its_type() -> None:
    assert ListToolsAction().model_dump() == {"metadata": {}, "type": "list_tools"}
    with pytest.raises(ValidationError):
        ListToolsAction.model_validate({"tool_name": "echo"})


def test_a_tool_needs_a_description() -> None:
    with pytest.raises(ValidationError):
        Tool.model_validate({"name": "echo", "description": None, "input_schema": {}})


def test_observations_carry_tools_results_and_errors() -> None:
    tool = Tool(name="echo", description="Echo a message", input_schema={"type": "object"})
    assert ListToolsObservation(tools=[tool]).model_dump()["tools"] == [tool.model_dump()]
    failed = CallToolObservation(
        tool_name="nope", error=ToolError(error_type=ToolErrorType.TOOL_NOT_FOUND, message="Unknown tool: 'nope'")
    )
    assert failed.model_dump(mode="json")["error"] == {
        "error_type": "tool_not_found",
        "message": "Unknown tool: 'nope'",
    }
    assert failed.result is None


def test_the_controls_of_the_trainer_are_reserved_names() -> None:
    assert frozenset({"reset", "step", "state", "close"}) == RESERVED_TOOL_NAMES


def test_the_function_format_has_the_tools_schema_and_is_an_object_in_any_case() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert function_schema(Tool(name="add", description="Adds.", input_schema=schema)) == {
        "type": "function",
        "function": {"name": "add", "description": "Adds.", "parameters": schema},
    }
    empty = function_schema(Tool(name="look", description="", input_schema={}))
    assert empty["function"]["parameters"] == {"type": "object", "properties": {}}
