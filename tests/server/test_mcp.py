"""Tools listed and called as steps."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tools import CallToolAction, CallToolObservation, ListToolsAction, ListToolsObservation
from openenv_gym_server.config import ServerMode
from openenv_gym_server.mcp import MCPEnvironment
from openenv_gym_server.tool_episode import ToolState

from tests.support.log_records import records_of_ours


class Calculator(MCPEnvironment):
    def __init__(self) -> None:
        super().__init__([self.add, self.divide])

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State()

    def add(self, a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    def divide(self, a: int, b: int) -> float:
        return a / b


def call(environment: MCPEnvironment, name: str, **arguments: Any) -> CallToolObservation:
    observation = environment.step(CallToolAction(tool_name=name, arguments=arguments))
    assert isinstance(observation, CallToolObservation)
    return observation


def test_tools_are_listed_before_any_reset_in_the_order_they_were_added() -> None:
    observation = Calculator().step(ListToolsAction())
    assert isinstance(observation, ListToolsObservation)
    assert [(tool.name, tool.description) for tool in observation.tools] == [("add", "Adds."), ("divide", "")]
    assert (observation.reward, observation.done) == (None, False)


def test_a_call_returns_the_result_and_no_error() -> None:
    observation = call(Calculator(), "add", a=2, b=3)
    assert observation.tool_name == "add"
    assert observation.result["data"] == 5
    assert observation.error is None
    assert (observation.reward, observation.done) == (None, False)


def test_an_unknown_tool_is_an_answer_not_an_exception() -> None:
    observation = call(Calculator(), "nope")
    assert observation.result is None
    assert observation.error is not None
    assert observation.error.model_dump(mode="json") == {
        "error_type": "tool_not_found",
        "message": "Unknown tool: 'nope'",
    }


def test_a_failing_tool_is_an_answer_and_its_traceback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        observation = call(Calculator(), "divide", a=1, b=0)
    assert observation.error is not None
    assert observation.error.error_type == "execution_error"
    (record,) = records_of_ours(caplog)
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_wrong_argument_is_the_agents_doing_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    for arguments, kind in [({}, "invalid_args"), ({"a": "x"}, "execution_error")]:
        observation = call(Calculator(), "add", **arguments)
        assert observation.error is not None
        assert observation.error.error_type == kind
    assert not records_of_ours(caplog)


def test_a_tool_can_be_added_later_by_decorator() -> None:
    environment = Calculator()

    @environment.tool
    def negate(a: int) -> int:
        return -a

    assert negate(1) == -1
    assert call(environment, "negate", a=4).result["data"] == -4
    assert [tool.name for tool in environment.tools] == ["add", "divide", "negate"]


def test_two_tools_of_one_name_are_refused() -> None:
    environment = Calculator()
    with pytest.raises(ConfigurationError, match="'add'"):
        environment.tool(environment.add)


def test_other_actions_go_to_the_subclass_or_are_refused() -> None:
    class Move(Action):
        to: int

    class Board(Calculator):
        def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
            assert isinstance(action, Move)
            return Observation(reward=float(action.to))

    assert Board().step(Move(to=3)).reward == 3.0
    with pytest.raises(TypeError, match="Move"):
        Calculator().step(Move(to=3))


class Judge:
    """A rubric that tells what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, action: CallToolAction, observation: CallToolObservation) -> float:
        self.asked.append(action.tool_name)
        return 0.25 if observation.error is None else -1.0

    def reset(self) -> None:
        self.asked.clear()


class Hunt(MCPEnvironment):
    """Finds a number."""

    def __init__(self) -> None:
        super().__init__([self.guess, self.look, self.wait], rubric=Judge())

    def guess(self, number: int) -> str:
        if number == 7:
            self.end_episode(reward=1.0)
            return "found"
        if number > 100:
            self.end_episode(is_truncated=True)
        return "no"

    async def look(self) -> str:
        await asyncio.sleep(0)
        self.set_reward(-0.5)
        return "nothing"

    async def wait(self) -> None:
        await asyncio.Event().wait()


@contextmanager
def closing(environment: Any) -> Iterator[Any]:
    try:
        yield environment
    finally:
        environment.close()


def state_of(environment: MCPEnvironment) -> dict[str, Any]:
    return environment.state.model_dump(exclude={"episode_id"})


def test_calls_are_counted_and_rewarded_by_the_rubric() -> None:
    environment = Hunt()
    environment.reset(episode_id="e")
    assert call(environment, "guess", number=1).reward == 0.25
    assert call(environment, "guess").reward == -1.0
    assert environment.rubric.asked == ["guess", "guess"]
    assert environment.state == ToolState(episode_id="e", step_count=2, last_reward=-1.0, episode_return=-0.75)


def test_listing_the_tools_is_no_step() -> None:
    environment = Hunt()
    environment.step(ListToolsAction())
    assert state_of(environment)["step_count"] == 0


def test_a_tool_sets_the_reward_and_ends_the_episode() -> None:
    environment = Hunt()
    environment.reset()
    found = call(environment, "guess", number=7)
    assert (found.reward, found.done, found.metadata) == (1.0, True, {})
    assert state_of(environment) == {"step_count": 1, "last_reward": 1.0, "episode_return": 1.0, "done": True}
    environment.reset()
    assert state_of(environment) == {"step_count": 0, "last_reward": None, "episode_return": 0.0, "done": False}
    late = call(environment, "guess", number=101)
    assert (late.reward, late.done, late.metadata) == (0.25, True, {"truncated": True})
    assert call(environment, "guess", number=1).done is False


def test_a_subclass_may_reward_calls_itself() -> None:
    class Priced(Calculator):
        def _reward_of(self, action: CallToolAction, observation: CallToolObservation) -> float:
            assert observation.result is not None
            return float(observation.result["data"])

    assert call(Priced(), "add", a=2, b=3).reward == 5.0


def test_coroutine_functions_are_tools_without_an_event_loop() -> None:
    with closing(Hunt()) as environment:
        assert call(environment, "look").result["data"] == "nothing"
        assert call(environment, "look").reward == -0.5


def test_a_coroutine_that_is_late_is_cancelled_and_the_session_goes_on() -> None:
    with closing(Hunt()) as environment:
        observation = environment.step(CallToolAction(tool_name="wait"), timeout_s=0.01)
        assert isinstance(observation, CallToolObservation)
        assert observation.error is not None
        assert observation.error.model_dump(mode="json") == {
            "error_type": "timeout",
            "message": "Tool 'wait' timed out after 0.01 seconds",
        }
        assert call(environment, "guess", number=7).result["data"] == "found"


def test_a_function_that_is_late_keeps_others_from_running_beside_it() -> None:
    class Slow(Calculator):
        def __init__(self) -> None:
            super().__init__()
            self.may_return = threading.Event()
            self.tool(self.hang, timeout_s=0.01)

        def hang(self) -> None:
            self.may_return.wait(30)

    environment = Slow()
    for name in ("hang", "add"):
        observation = call(environment, name, **({"a": 1} if name == "add" else {}))
        assert observation.error is not None
        assert observation.error.error_type == "timeout"
    environment.may_return.set()
    (late,) = [thread for thread in threading.enumerate() if thread.name == "openenv-gym-tool"]
    late.join(30)
    assert call(environment, "add", a=1).result["data"] == 2


def test_a_plain_function_without_a_time_out_stays_in_the_environments_thread() -> None:
    class Bound(MCPEnvironment):
        def __init__(self) -> None:
            super().__init__([self.where])

        def where(self) -> int:
            return threading.get_ident()

    observation = Bound().step(CallToolAction(tool_name="where"), timeout_s=30.0)
    assert isinstance(observation, CallToolObservation)
    assert observation.result["data"] == threading.get_ident()


def test_a_time_out_of_the_tools_own_is_its_error() -> None:
    class Impatient(MCPEnvironment):
        tool_timeout_s = 30.0

        def __init__(self) -> None:
            super().__init__([self.plain, self.later])

        def plain(self) -> None:
            raise TimeoutError("the database")

        async def later(self) -> None:
            raise TimeoutError("the database")

    with closing(Impatient()) as environment:
        for name in ("plain", "later"):
            observation = call(environment, name)
            assert observation.error is not None
            assert observation.error.error_type == "execution_error"
            assert observation.error.message == f"Error calling tool {name!r}: the database"


def test_tools_exist_in_the_mode_that_they_are_for() -> None:
    environment = Calculator()

    @environment.tool(mode="production", name="pay")
    def charge(amount: int) -> str:
        return f"charged {amount}"

    @environment.tool(mode="simulation", name="pay")
    def pretend(amount: int) -> str:
        return f"pretended {amount}"

    assert call(environment, "pay", amount=1).result["data"] == "pretended 1"
    environment.server_mode = ServerMode.PRODUCTION
    assert call(environment, "pay", amount=1).result["data"] == "charged 1"
    assert [tool.name for tool in environment.tools] == ["add", "divide", "pay"]
    with pytest.raises(ConfigurationError, match="'pay'"):
        environment.tool(name="pay")(pretend)
    with pytest.raises(ConfigurationError, match="simulation or production"):
        environment.tool(mode="test")(pretend)


def test_production_keeps_what_an_exception_says_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    environment = Calculator()
    environment.server_mode = ServerMode.PRODUCTION
    error = call(environment, "divide", a=1, b=0).error
    assert error is not None
    assert "zero" not in error.message
    (record,) = records_of_ours(caplog)
    assert error.message.split("[error ")[1].rstrip("]") in record.getMessage()


def test_the_tools_of_an_mcp_server_object_are_tools() -> None:
    server = MCPServer("shop")

    @server.tool()
    def price(item: str) -> int:
        """Tells a price."""
        return len(item)

    @server.tool()
    def fail() -> int:
        raise ValueError("sold out")

    class Shop(MCPEnvironment):
        def __init__(self) -> None:
            super().__init__(server)

    with closing(Shop()) as shop:
        assert [(tool.name, tool.description) for tool in shop.tools] == [("price", "Tells a price."), ("fail", "")]
        assert shop.tools[0].input_schema["required"] == ["item"]
        assert call(shop, "price", item="pear").result["data"] == 4
        failed = call(shop, "fail").error
        assert failed is not None
        assert "fail" in failed.message
        assert state_of(shop)["step_count"] == 2


def test_reserved_names_of_an_mcp_server_object_are_refused() -> None:
    server = MCPServer("shop")

    @server.tool()
    def reset() -> None:
        """Not for agents."""

    with pytest.raises(ConfigurationError, match="'reset'"):
        MCPEnvironment(server)


def test_an_async_environment_awaits_its_tools_on_its_own_loop() -> None:
    class Loop(Hunt):
        execution = "async"

    async def play() -> list[float | bool | int | None]:
        environment = Loop()
        rewards = []
        for name in ("look", "guess"):
            action = CallToolAction(tool_name=name, arguments={"number": 7} if name == "guess" else {})
            rewards.append((await environment.step_async(action, timeout_s=30.0)).reward)
        late = await environment.step_async(CallToolAction(tool_name="wait"), timeout_s=0.01)
        assert isinstance(late, CallToolObservation)
        assert late.error is not None
        assert late.error.error_type == "timeout"
        return rewards

    assert asyncio.run(play()) == [-0.5, 1.0]


def test_an_async_environment_that_overrides_step_alone_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="step_async"):

        class Bypassed(MCPEnvironment):
            execution = "async"

            def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
                return super().step(action, timeout_s, **options)


def test_a_closed_environment_leaves_memory_without_a_collection() -> None:
    environment = Calculator()
    alive = weakref.ref(environment)
    gc.disable()
    try:
        environment.close()
        del environment
        assert alive() is None
    finally:
        gc.enable()
