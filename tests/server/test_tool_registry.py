"""Tools by name and mode."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.tools import ToolErrorType
from openenv_gym_server.config import ServerMode
from openenv_gym_server.tool_functions import ToolFailed, ToolFunction
from openenv_gym_server.tool_registry import ToolRegistry

SIMULATION, PRODUCTION = ServerMode.SIMULATION, ServerMode.PRODUCTION


def tool(name: str) -> ToolFunction:
    return ToolFunction(lambda: name, name=name)


def test_tools_are_listed_in_the_order_in_which_they_were_added_and_found_by_name() -> None:
    registry = ToolRegistry()
    registry.add_all([tool("b"), tool("a")])
    assert [each.name for each in registry.listed(SIMULATION)] == ["b", "a"]
    assert registry.find("a", PRODUCTION).tool.start({}) == "a"


def test_one_name_may_be_another_tool_in_each_mode() -> None:
    registry = ToolRegistry()
    simulated, real = tool("act"), tool("act")
    registry.add(simulated, mode="simulation", timeout_s=2.0)
    registry.add(real, mode="production")
    assert registry.find("act", SIMULATION)[:2] == (simulated, 2.0)
    assert registry.find("act", PRODUCTION)[:2] == (real, None)


@pytest.mark.parametrize(("first", "second"), [(None, None), (None, "simulation"), ("production", None)])
def test_a_name_that_is_taken_in_a_mode_is_refused(first: str | None, second: str | None) -> None:
    registry = ToolRegistry()
    registry.add(tool("act"), mode=first)
    with pytest.raises(ConfigurationError, match="'act' already"):
        registry.add(tool("act"), mode=second)


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan")])
def test_a_time_out_is_positive(timeout_s: float) -> None:
    with pytest.raises(ConfigurationError, match="timeout_s of tool 'act'"):
        ToolRegistry().add(tool("act"), timeout_s=timeout_s)


def test_an_unknown_mode_is_named() -> None:
    with pytest.raises(ConfigurationError, match="'training'"):
        ToolRegistry().add(tool("act"), mode="training")


def test_a_tool_of_the_other_mode_and_one_that_was_dropped_are_unknown() -> None:
    registry = ToolRegistry()
    registry.add(tool("act"), mode="production")
    with pytest.raises(ToolFailed) as unknown:
        registry.find("act", SIMULATION)
    assert unknown.value.error.error_type == ToolErrorType.TOOL_NOT_FOUND
    registry.clear()
    assert registry.listed(PRODUCTION) == []
