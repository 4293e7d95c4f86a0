"""The only place where a message meets an environment, for every transport and execution.

Everything here runs where the environment's code runs. It is written as coroutines: an async environment's are
awaited by its loop, and a plain environment's never suspend, so that a thread runs them to their end by itself.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Coroutine, Mapping
from math import isfinite
from typing import Any, TypeAlias, TypeVar

from openenv_gym_protocol.errors import (
    ExecutionError,
    FactoryError,
    InvalidAction,
    InvalidMessage,
    UnknownMessageType,
)
from pydantic import BaseModel, ValidationError

from openenv_gym_server.contract import Contract
from openenv_gym_server.loops import is_plain, run_to_end, wait_for
from openenv_gym_server.serialisation import (
    Result,
    checked_reward,
    outcome_of,
    ready_to_write,
    state_data,
    take_apart,
    to_json,
)
from openenv_gym_server.traits import Method, find_method, stands_for
from openenv_gym_server.validation import read_reset, refused
from openenv_gym_server.watched import NO_OPTIONS, Activity, Watched

_T = TypeVar("_T")

Values: TypeAlias = tuple[Any, Any, bool, bool, Mapping[str, Any]]
"""What ``step_values`` returns: the observation's value, the reward, terminated, truncated and the info."""


class Host(Watched):
    """Owns one session's environment and runs its code; used from one thread only.

    Attributes:
        as_columns: Observations go into columns, and into no JSON: they are handed on as they are.
    """

    def __init__(self, contract: Contract, session_id: str) -> None:
        super().__init__(contract, session_id)
        self.as_columns = False
        self._allows_nonfinite_reward = contract.definition.traits.allow_nonfinite_reward
        self._environment: Any = None
        self._class: type = object

    async def construct(self, **arguments: Any) -> None:
        """Makes the environment.

        Args:
            **arguments: What the factory is given; nothing, but for environments of many lanes.

        Raises:
            FactoryError: The factory failed; the cause is in the log.
        """
        self.activity = Activity("construct", time.monotonic())
        try:
            self._environment = self.contract.definition.factory(**arguments)
            self._class = type(self._environment)
            if hasattr(self._class, "server_mode"):
                self._environment.server_mode = self.contract.config.mode
        except BaseException as error:
            self.report(error, "the constructor")
            name = self.contract.definition.factory_name
            raise FactoryError(
                f"Environment factory {name!r} failed to create an instance; the server's log says why.",
                factory_name=name,
            ) from error
        finally:
            self.activity = None

    async def reset(self, data: dict[str, Any]) -> Result:
        """Starts an episode.

        Raises:
            InvalidMessage: Wrong values of seed, episode_id or a typed option.
            ExecutionError: The environment failed.
        """
        method, options = self._read_reset(data)
        return await self._observe(method, (), options)

    async def reset_values(self, data: dict[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Starts an episode of an environment that has ``reset_values``; same errors as ``reset``.

        Returns:
            The observation's value and the info.
        """
        method, options = self._read_reset(data)

        async def begin() -> tuple[Any, Mapping[str, Any]]:
            value, info = self._environment.reset_values(**options)
            return value, info

        return await self._refusing(method.operation, begin())

    async def step(self, data: dict[str, Any], options: Mapping[str, Any] | None = None) -> Result:
        """Takes an action, given as its fields.

        Args:
            data: The action's fields.
            options: Further arguments; those that the environment's step does not take are dropped.

        Raises:
            InvalidMessage: The action's model refuses the data, or the environment raised ``InvalidAction``.
            ExecutionError: The environment failed.
        """
        action = self._read_action(data)
        if not options:
            return await self.take(action)
        self.tally.steps += 1
        method = self._step_method
        return await self._observe(method, (action,), method.taken(options), options.get("timeout_s"))

    async def take(self, action: BaseModel) -> Result:
        """Steps with an action that was read already; agents call tools by it, in production too."""
        self.tally.steps += 1
        return await self._observe(self._step_method, (action,), {})

    def step_at_once(
        self, read: Callable[[Host, Any], Result], data: dict[str, Any], options: Mapping[str, Any] = NO_OPTIONS
    ) -> Result:
        """Does what ``step`` does, for environments that do not await: without a coroutine it takes half the time.

        Args:
            read: Reads what the environment returned: ``Host.taken_apart`` or ``Host.ready_to_write``, which are not
                looked up in the object's own class.
            data: The action's fields.
            options: Further arguments; those that the environment's step does not take are dropped.

        Raises:
            InvalidMessage: The action's model refuses the data, or the environment raised ``InvalidAction``.
            ExecutionError: The environment failed.
        """
        action = self._read_action(data)
        method = self._step_method
        step = getattr(self._environment, method.name)
        if options:
            return self.at_once(step, action, read, method.taken(options), options.get("timeout_s"))
        return self.at_once(step, action, read)

    def taken_apart(self, told: Any) -> Result:
        """Reads what the environment returned, now or as soon as it is awaited."""
        return self._taken_apart(self._at_hand(told))

    def ready_to_write(self, told: Any) -> Result:
        """The same, for an answer that ``observation_frame`` writes."""
        return ready_to_write(self._at_hand(told), self._allows_nonfinite_reward)

    @property
    def has_values(self) -> bool:
        """Whether the environment has ``step_values``, so that it can be stepped without the models."""
        return stands_for(self._class, "step_values", "step", "step_async")

    @property
    def begins_with_values(self) -> bool:
        """Whether it has ``reset_values`` too."""
        return self.has_values and stands_for(self._class, "reset_values", "reset", "reset_async")

    def step_values(self, action: Any, deadline: float | None) -> Values:
        """Steps an environment that has ``step_values``.

        Args:
            action: A value of its action space.
            deadline: The request's own, on the monotonic clock, in seconds, if it has one.

        Raises:
            InvalidMessage: The environment raised ``InvalidAction``.
            ExecutionError: The environment failed, or its reward is NaN or infinite and that is not allowed.
        """
        if self.contract.is_in_production:
            self._require_simulation("step")
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        return self.at_once(self._environment.step_values, action, Host._checked_values, NO_OPTIONS, left)

    async def state(self) -> dict[str, Any]:
        """Reads the environment's state.

        Raises:
            ExecutionError: The environment failed.
        """
        self._require_simulation("state")

        async def read() -> dict[str, Any]:
            return state_data(await self._settled(self._environment.state))

        return await self.guarded("state", read())

    async def observe_arrays(self, operation: str, lanes: int, *arguments: Any, **seeds: Any) -> Any:
        """Calls ``reset_arrays`` or ``step_arrays`` of an environment of many lanes.

        Args:
            operation: reset or step.
            lanes: How many lanes do it; each counts.
            *arguments: What the method is given.
            **seeds: The seeds of the resets that the lanes make by themselves, where the method takes them.

        Raises:
            ExecutionError: The environment failed.
        """
        self._require_simulation(operation)
        if operation == "reset":
            self.tally.resets += lanes
        else:
            self.tally.steps += lanes

        async def observe() -> Any:
            return await self._settled(getattr(self._environment, f"{operation}_arrays")(*arguments, **seeds))

        return await self.guarded(operation, observe())

    async def access(self, operation: str, work: Callable[[Any], Any]) -> Any:
        """Does something with the environment that is none of its operations: reads or sets an attribute, renders.

        Args:
            operation: What errors call it.
            work: Gets the environment.

        Returns:
            What ``work`` returned, awaited where it has to be.

        Raises:
            ExecutionError: It failed.
        """
        self._require_simulation(operation)

        async def do() -> Any:
            return await self._settled(work(self._environment))

        return await self.guarded(operation, do())

    async def call_method(self, name: str, *arguments: Any) -> Any:
        """Calls one of the environment's further methods, plain or awaiting, such as those of the Task API.

        Raises:
            NotImplementedError: The environment has no such method.
            IndexError: As the method raised it.
            ExecutionError: The method failed otherwise.
        """
        method = getattr(self._environment, name, None)
        if not callable(method):
            raise NotImplementedError(name)

        async def call() -> Any:
            return await self._settled(method(*arguments))

        return await self.guarded(name, call(), passed_on=(NotImplementedError, IndexError))

    async def close(self) -> None:
        """Closes the environment; a failure is logged and nothing more."""
        environment, self._environment = self._environment, None
        close = getattr(environment, "close", None)
        if close is None:
            return
        self.activity = Activity("close", time.monotonic())
        try:
            await self._settled(close())
        except BaseException as error:
            self.report(error, "close")
        finally:
            self.activity = None

    def written(self, value: Any, operation: str, write: Callable[[Any], str] = to_json) -> str:
        """Writes an answer as JSON, here and not on the server's event loop.

        Args:
            value: The answer.
            operation: What it answers.
            write: Writes it.

        Raises:
            ExecutionError: It holds something that JSON cannot carry.
        """
        try:
            return write(value)
        except ExecutionError as error:
            raise self.report(error, f"writing the answer to {operation}") from error

    async def _observe(
        self, method: Method, positional: tuple[Any, ...], options: Mapping[str, Any], timeout_s: float | None = None
    ) -> Result:
        async def observe() -> Result:
            return self._taken_apart(
                await self._settled(getattr(self._environment, method.name)(*positional, **options))
            )

        return await self._refusing(method.operation, observe(), timeout_s)

    async def _refusing(self, operation: str, work: Coroutine[Any, Any, _T], timeout_s: float | None = None) -> _T:
        """Awaits a call into the environment, which may refuse what the client sent."""
        try:
            return await self.guarded(operation, work, timeout_s=timeout_s, passed_on=(InvalidAction,))
        except InvalidAction as error:
            # What is wrong with an action is the client's, whoever found it.
            raise InvalidMessage(error.message) from error

    def _read_reset(self, data: dict[str, Any]) -> tuple[Method, dict[str, Any]]:
        """The environment's reset and what it is given; counts it."""
        self._require_simulation("reset")
        method = self._method("reset")
        try:
            options = read_reset(self.contract.definition, method, data)
        except InvalidMessage:
            self.tally.invalid += 1
            raise
        self.contract.log_dropped(data.keys() - options.keys(), self.session_id)
        self.tally.resets += 1
        return method, options

    def _checked_values(self, told: Values) -> Values:
        value, reward, terminated, truncated, info = told
        if type(reward) is float and isfinite(reward):
            return told
        return value, checked_reward(reward, self._allows_nonfinite_reward), terminated, truncated, info

    def _at_hand(self, told: Any) -> Any:
        return told if is_plain(type(told)) else run_to_end(self._settled(told))

    def _taken_apart(self, observation: Any) -> Result:
        return (outcome_of if self.as_columns else take_apart)(observation, self._allows_nonfinite_reward)

    def _read_action(self, data: dict[str, Any]) -> BaseModel:
        if self.contract.is_in_production:
            self._require_simulation("step")
        try:
            return self.contract.read_action(data)
        except InvalidMessage:
            self.tally.invalid += 1
            raise
        except ValidationError as error:
            self.tally.invalid += 1
            raise refused(error) from error

    async def _settled(self, value: Any) -> Any:
        if is_plain(type(value)) or not inspect.isawaitable(value):
            return value
        if self.contract.definition.traits.execution == "async":
            return await value
        # Here there is no event loop; what is ready at once is as good as a plain value.
        return run_to_end(wait_for(value))

    @property
    def has_tools(self) -> bool:
        """Whether the environment lists tools by itself, whatever the app's action class."""
        return callable(getattr(self._environment, "list_tools", None))

    def _require_simulation(self, operation: str) -> None:
        if self.contract.is_in_production:
            raise UnknownMessageType(f"{operation} is not available: this server runs in production mode.")

    def _method(self, operation: str) -> Method:
        awaiting = self.contract.definition.traits.execution == "async"
        return find_method(self._class, operation, awaiting=awaiting)

    @functools.cached_property
    def _step_method(self) -> Method:
        return self._method("step")
