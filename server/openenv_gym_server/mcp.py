"""Environments whose actions are tool calls."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar, overload

from openenv_gym_protocol.errors import ConfigurationError, InvalidAction
from openenv_gym_protocol.models import Action, Observation, State
from openenv_gym_protocol.tools import (
    CallToolAction,
    CallToolObservation,
    ListToolsAction,
    ListToolsObservation,
    Tool,
    ToolError,
    ToolErrorType,
)

from openenv_gym_server.config import ServerMode
from openenv_gym_server.environment import Environment, Execution, Transform, truncated
from openenv_gym_server.tool_calls import ToolCalls
from openenv_gym_server.tool_episode import ToolEpisode, ToolState
from openenv_gym_server.tool_functions import OfferedTool, ToolFailed, ToolFunction
from openenv_gym_server.tool_registry import ToolRegistry
from openenv_gym_server.tool_servers import tools_of

logger = logging.getLogger(__name__)

_F = TypeVar("_F", bound=Callable[..., Any])


class MCPEnvironment(Environment[Action, Observation, State]):
    """An environment that offers tools: typed Python functions, or those of an MCP server object.

    ::

        class Calculator(MCPEnvironment):
            def __init__(self):
                super().__init__([self.add])

            def add(self, a: int, b: int) -> int:
                '''Adds two numbers.'''
                return a + b

    A call is a step, whoever makes it and on whichever transport: it is counted, and rewarded by the rubric, by
    ``_reward_of`` or by the tool itself, which may call ``set_reward`` and ``end_episode``. The agent that calls sees
    neither; the trainer sees them in the step's observation and in ``state``.

    Tools may be coroutine functions. A subclass that adds to ``reset`` or ``step`` calls ``super()``'s; one with
    ``execution = "async"`` overrides ``step_async`` in place of ``step``.

    Args:
        tools: The functions that are tools from the start, or an MCP server object: a FastMCP server of 3.0 or later,
            or the server class of the official SDK.
        transform: Applied by ``_apply_transform``.
        rubric: Rewards the calls whose tool sets no reward.
    """

    execution: ClassVar[Execution | None] = "thread"

    tool_timeout_s: ClassVar[float | None] = None
    """Seconds that a call may take before it is answered with the error ``timeout``; None for as long as the server
    lets a step take. A tool's own ``timeout_s`` beats it."""

    server_mode: ServerMode = ServerMode.SIMULATION
    """The mode of the server that made this environment."""

    def __init__(
        self,
        tools: Iterable[Callable[..., Any]] | Any = (),
        transform: Transform | None = None,
        rubric: Any = None,
    ) -> None:
        """Reads the tools; ``tool`` adds others.

        Raises:
            ConfigurationError: A function cannot be a tool; the message says which and why.
        """
        super().__init__(transform, rubric)
        self._tools = ToolRegistry()
        self._calls = ToolCalls()
        self._episode = ToolEpisode()
        if not isinstance(tools, Iterable):
            self._tools.add_all(tools_of(tools))
            return
        for function in tools:
            self.tool(function)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.execution == "async" and "step" in vars(cls) and "step_async" not in vars(cls):
            raise ConfigurationError(f"{cls.__name__} has async execution: override step_async in place of step.")

    @overload
    def tool(
        self, function: _F, *, name: str | None = None, timeout_s: float | None = None, mode: str | None = None
    ) -> _F: ...

    @overload
    def tool(
        self, *, name: str | None = None, timeout_s: float | None = None, mode: str | None = None
    ) -> Callable[[_F], _F]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        timeout_s: float | None = None,
        mode: str | None = None,
    ) -> Any:
        """Adds a function as a tool; works as a decorator, with and without arguments.

        Args:
            function: The function.
            name: The tool's name; by default the function's.
            timeout_s: Seconds that a call may take.
            mode: ``simulation`` or ``production``: the tool exists in servers of that mode only.

        Raises:
            ConfigurationError: The function cannot be a tool, or there is one of that name.
        """

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self._tools.add(ToolFunction(function, name=name), timeout_s=timeout_s, mode=mode)
            return function

        return add if function is None else add(function)

    @property
    def tools(self) -> list[Tool]:
        """The tools that exist in the server's mode, in the order in which they were added."""
        return self._tools.listed(self.server_mode)

    def list_tools(self) -> list[Tool]:
        """What a server tells agents that ask for the tools, without a step."""
        return self.tools

    def set_reward(self, reward: float) -> None:
        """For tools: the reward of the call under way, in place of the rubric's."""
        self._episode.reward = reward

    def end_episode(self, reward: float | None = None, *, is_truncated: bool = False) -> None:
        """For tools: the call under way is the episode's last.

        Args:
            reward: The call's reward; None leaves it to the rubric.
            is_truncated: The episode is cut off by a limit outside the task.
        """
        self._episode.end(reward, is_truncated=is_truncated)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:  # noqa: ARG002
        """Starts an episode: counts and rewards anew."""
        self._episode = ToolEpisode(episode_id or str(uuid.uuid4()))
        self._reset_rubric()
        return Observation()

    @property
    def state(self) -> State:
        """Where the episode stands, for the trainer: steps, rewards, and whether it is over."""
        return self._episode.state

    def step(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """Lists or calls tools; any other action goes to ``_step_impl``."""
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self.tools)
        self._episode.begin_step()
        if not isinstance(action, CallToolAction):
            return self._episode.note(self._step_impl(action, timeout_s=timeout_s, **options))
        try:
            tool, limit = self._found(action, timeout_s)
            observation = self._answered(tool, self._calls.run(tool, action.arguments, limit))
        except Exception as error:
            observation = self._failed(action.tool_name, error)
        observation = self._ended(observation)
        reward = self._episode.reward
        observation.reward = self._reward_of(action, observation) if reward is None else reward
        return self._episode.note(observation)

    async def step_async(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """As ``step``, on the event loop of an environment with async execution."""
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self.tools)
        self._episode.begin_step()
        if not isinstance(action, CallToolAction):
            return self._episode.note(self._step_impl(action, timeout_s=timeout_s, **options))
        try:
            tool, limit = self._found(action, timeout_s)
            observation = self._answered(tool, await self._calls.run_async(tool, action.arguments, limit))
        except Exception as error:
            observation = self._failed(action.tool_name, error)
        observation = self._ended(observation)
        reward = self._episode.reward
        observation.reward = await self._reward_of_async(action, observation) if reward is None else reward
        return self._episode.note(observation)

    def close(self) -> None:
        """Releases what the tool calls hold, and the tools; a subclass that adds to it calls ``super()``'s."""
        self._calls.close()
        # They hold the environment, which would stay in memory until the next collection of everything.
        self._tools.clear()

    def _reward_of(self, action: CallToolAction, observation: CallToolObservation) -> float | None:
        """The reward of a call whose tool set none; by default the rubric's, or none."""
        return None if self.rubric is None else self._apply_rubric(action, observation)

    async def _reward_of_async(self, action: CallToolAction, observation: CallToolObservation) -> float | None:
        """As ``_reward_of``, in an environment with async execution."""
        if type(self)._reward_of is not MCPEnvironment._reward_of:
            return self._reward_of(action, observation)
        return None if self.rubric is None else await self._apply_rubric_async(action, observation)

    def _step_impl(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:  # noqa: ARG002
        """Takes an action that is no tool's. A subclass that has such actions overrides it."""
        raise TypeError(f"{type(self).__name__} takes tool actions only, not {type(action).__name__}.")

    def _found(self, action: CallToolAction, timeout_s: float | None) -> tuple[OfferedTool, float | None]:
        found = self._tools.find(action.tool_name, self.server_mode)
        own = found.timeout_s if found.timeout_s is not None else self.tool_timeout_s
        if own is None and not found.tool.is_async:
            return found.tool, None  # it stays in the environment's thread, and the server ends what is late
        limits = [limit for limit in (own, timeout_s) if limit is not None]
        return found.tool, min(limits, default=None)

    @staticmethod
    def _answered(tool: OfferedTool, value: Any) -> CallToolObservation:
        try:
            return CallToolObservation(tool_name=tool.tool.name, result=tool.result(value))
        except Exception as error:
            text = f"Tool {tool.tool.name!r} returned what JSON cannot carry: {error}"
            raise ToolFailed(ToolErrorType.EXECUTION_ERROR, text, is_tools_fault=True) from error

    def _failed(self, name: str, error: Exception) -> CallToolObservation:
        if isinstance(error, ToolFailed):
            if error.is_tools_fault:
                logger.warning("tool %r failed", name, exc_info=error.__cause__)
            return CallToolObservation(tool_name=name, error=error.error)
        error_id = uuid.uuid4().hex[:12]
        logger.warning("tool %r failed (error %s)", name, error_id, exc_info=error)
        told = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message=self._worded(name, error, error_id))
        return CallToolObservation(tool_name=name, error=told)

    def _worded(self, name: str, error: Exception, error_id: str) -> str:
        prefix = f"Error calling tool {name!r}"
        if self.server_mode is ServerMode.PRODUCTION and not isinstance(error, InvalidAction):
            return f"{prefix} [error {error_id}]"
        text = str(error)
        return text if text.startswith(prefix) else f"{prefix}: {text}"

    def _ended(self, observation: CallToolObservation) -> CallToolObservation:
        observation.done = self._episode.is_over
        return truncated(observation) if self._episode.is_truncated else observation


__all__ = ["MCPEnvironment", "ToolState"]
