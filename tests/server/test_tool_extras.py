"""What MCP's clients are told of a tool besides what OpenEnv's wire carries."""

from __future__ import annotations

from types import SimpleNamespace

from mcp_types import ToolAnnotations
from openenv_gym_protocol.tools import ListToolsObservation, Tool
from openenv_gym_server.tool_extras import ExplainedTool, Extras, extras_of, read_extras

PLAIN = Tool(name="act", description="Acts.", input_schema={"type": "object"})


def test_a_tool_keeps_its_extras_and_travels_as_any_other() -> None:
    extras = Extras("Act", {"readOnlyHint": True})
    tool = ExplainedTool.of(PLAIN, extras)
    assert extras_of(tool) == extras
    assert ListToolsObservation(tools=[tool]).model_dump()["tools"] == [PLAIN.model_dump()]


def test_a_tool_of_the_wire_has_none() -> None:
    assert extras_of(PLAIN) == (None, None)


def test_extras_are_read_of_models_dictionaries_and_objects_without_any() -> None:
    assert read_extras(SimpleNamespace(title="Act", annotations=ToolAnnotations(idempotent_hint=False))) == (
        "Act",
        {"idempotentHint": False},
    )
    assert read_extras(SimpleNamespace(annotations={"destructiveHint": True})) == (None, {"destructiveHint": True})
    assert read_extras(object()) == (None, None)
    assert read_extras(SimpleNamespace(title=None, annotations=ToolAnnotations())) == (None, None)
