"""The only place where a message meets an environment, for every transport and execution.

Everything here runs where the environment's code runs. It is written as coroutines: an async environment's are
awaited by its loop, and a plain environment's never suspend, so that a thread runs them to their end by itself.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from openenv_gym_protocol.errors import (
    ExecutionError,
    FactoryError,
    InvalidAction,
    InvalidMessage,
    UnknownMessageType,
)
from pydantic import BaseModel

from openenv_gym_server.config import ServerConfig, ServerMode
from openenv_gym_server.counters import Tally
from openenv_gym_server.definition import Definition
from openenv_gym_server.failures import FailureReporter
from openenv_gym_server.loops import runs_on_a_loop, wait_for
from openenv_gym_server.serialisation import Result, state_data, take_apart, to_json
from openenv_gym_server.traits import Method, find_method
from openenv_gym_server.validation import read_action, read_reset

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_NO_OPTIONS: Mapping[str, Any] = {}
_MAX_DROPPED_KEYS = 50
_MAX_KEY_LENGTH = 60
"""Bounds for what strangers can write into the log."""


class Activity(NamedTuple):
    """A call into environment code that is under way."""

    operation: str
    started: float
    """On the monotonic clock, in seconds."""
    timeout_s: float | None = None
    """The request's own deadline, in seconds, where its transport can carry one."""


@dataclass
class Contract:
    """What every session of an app has in common."""

    definition: Definition
    config: ServerConfig
    reporter: FailureReporter = field(init=False)
    dropped_keys: set[str] = field(default_factory=set)
    """Reset keys that the environment does not take and that were logged already."""
    tracer: Any = None  # OpenTelemetry's, where sessions are traced

    def __post_init__(self) -> None:
        self.reporter = FailureReporter(self.config)

    def enter_debug(self) -> None:
        """Lifts all deadlines and sends tracebacks to clients."""
        self.config = replace(self.config, debug=True)
        self.reporter = FailureReporter(self.config)


class Host:
    """Owns one session's environment and runs its code; used from one thread only.

    Attributes:
        activity: The call into environment code under way, if any; other threads may read it.
        abandoned: Nobody waits for its answers any more, so that a cancelled call may end without one.
        patience: The seconds that the running request allows, where its transport carries a deadline and keeps it
            itself; the server's own limits are not shorter then.
        as_columns: Observations go into columns, and into no JSON.
    """

    def __init__(self, contract: Contract, session_id: str) -> None:
        self.contract = contract
        self.session_id = session_id
        self.activity: Activity | None = None
        self.abandoned = False
        self.patience: float | None = None
        self.as_columns = False
        self.tally = Tally()
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
        self._require_simulation("reset")
        method = self._method("reset")
        try:
            options = read_reset(self.contract.definition, method, data)
        except InvalidMessage:
            self.tally.invalid += 1
            raise
        self._log_dropped(data.keys() - options.keys())
        self.tally.resets += 1
        return await self._observe(method, (), options)

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
        method = self._method("step")
        taken = {key: value for key, value in options.items() if method.takes(key)}
        return await self._observe(method, (action,), taken, options.get("timeout_s"))

    async def take(self, action: BaseModel) -> Result:
        """Steps with an action that was read already; agents call tools by it, in production too."""
        self.tally.steps += 1
        return await self._observe(self._method("step"), (action,), {})

    def step_at_once(self, data: dict[str, Any], options: Mapping[str, Any] = _NO_OPTIONS) -> Result:
        """Does what ``step`` does, for environments that do not await: without a coroutine it takes half the time.

        Args:
            data: The action's fields.
            options: Further arguments; those that the environment's step does not take are dropped.

        Raises:
            InvalidMessage: The action's model refuses the data, or the environment raised ``InvalidAction``.
            ExecutionError: The environment failed.
        """
        action = self._read_action(data)
        self.tally.steps += 1
        method = self._method("step")
        taken = options if options.keys() <= method.names else {k: v for k, v in options.items() if method.takes(k)}
        started = time.monotonic()
        self.activity = Activity("step", started, options.get("timeout_s"))
        try:
            observation = getattr(self._environment, method.name)(action, **taken)
            if not isinstance(observation, BaseModel):
                observation = run_to_end(self._settled(observation))
            return self._taken_apart(observation)
        except InvalidAction as error:
            raise InvalidMessage(error.message) from error
        except BaseException as error:
            raise self.report(error, "step") from error
        finally:
            self.activity = None
            self.tally.time("step", started)

    async def state(self) -> dict[str, Any]:
        """Reads the environment's state.

        Raises:
            ExecutionError: The environment failed.
        """
        self._require_simulation("state")

        async def read() -> dict[str, Any]:
            return state_data(await self._settled(self._environment.state))

        return await self._guarded("state", read())

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

        return await self._guarded(operation, observe())

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

        return await self._guarded(operation, do())

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

        return await self._guarded(name, call(), passed_on=(NotImplementedError, IndexError))

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

    def report(self, error: BaseException, operation: str) -> ExecutionError:
        """Logs a failure of the environment's code and returns what to tell the client."""
        self.tally.failures += 1
        return self.contract.reporter.report(error, operation=operation, session_id=self.session_id)

    def is_cancelled(self, error: BaseException) -> bool:
        """Whether the server cancels the running call, rather than the environment raising that class.

        An environment may cancel every task it finds, its own and other sessions' included; those are failures.
        """
        return self.abandoned and isinstance(error, asyncio.CancelledError) and runs_on_a_loop()

    def written(self, value: Any, operation: str) -> str:
        """Writes an answer as JSON, here and not on the server's event loop.

        Raises:
            ExecutionError: It holds something that JSON cannot carry.
        """
        try:
            return to_json(value)
        except ExecutionError as error:
            raise self.report(error, f"writing the answer to {operation}") from error

    async def _observe(
        self, method: Method, positional: tuple[Any, ...], options: Mapping[str, Any], timeout_s: float | None = None
    ) -> Result:
        async def observe() -> Result:
            return self._taken_apart(
                await self._settled(getattr(self._environment, method.name)(*positional, **options))
            )

        try:
            return await self._guarded(method.operation, observe(), timeout_s=timeout_s, passed_on=(InvalidAction,))
        except InvalidAction as error:
            # What is wrong with an action is the client's, whoever found it.
            raise InvalidMessage(error.message) from error

    def _taken_apart(self, observation: Any) -> Result:
        allow = self.contract.definition.traits.allow_nonfinite_reward
        return take_apart(observation, allow_nonfinite_reward=allow, as_columns=self.as_columns)

    def _read_action(self, data: dict[str, Any]) -> BaseModel:
        self._require_simulation("step")
        try:
            return read_action(self.contract.definition, data)
        except InvalidMessage:
            self.tally.invalid += 1
            raise

    async def _settled(self, value: Any) -> Any:
        if isinstance(value, BaseModel) or not inspect.isawaitable(value):
            return value
        if self.contract.definition.traits.execution == "async":
            return await value
        # Here there is no event loop; what is ready at once is as good as a plain value.
        return run_to_end(wait_for(value))

    async def _guarded(
        self,
        operation: str,
        work: Coroutine[Any, Any, _T],
        *,
        timeout_s: float | None = None,
        passed_on: tuple[type[Exception], ...] = (),
    ) -> _T:
        # BaseException: an environment that calls sys.exit must not end the server's thread.
        started = time.monotonic()
        self.activity = Activity(operation, started, timeout_s)
        try:
            return await work
        except passed_on:
            raise
        except BaseException as error:
            if self.is_cancelled(error):
                raise
            raise self.report(error, operation) from error
        finally:
            self.activity = None
            self.tally.time(operation, started)

    @property
    def has_tools(self) -> bool:
        """Whether the environment lists tools by itself, whatever the app's action class."""
        return callable(getattr(self._environment, "list_tools", None))

    def _require_simulation(self, operation: str) -> None:
        if self.contract.config.mode is ServerMode.PRODUCTION:
            raise UnknownMessageType(f"{operation} is not available: this server runs in production mode.")

    def _method(self, operation: str) -> Method:
        awaiting = self.contract.definition.traits.execution == "async"
        return find_method(self._class, operation, awaiting=awaiting)

    def _log_dropped(self, keys: set[str]) -> None:
        known = self.contract.dropped_keys
        new = keys - known
        if not new or len(known) >= _MAX_DROPPED_KEYS:
            return
        known |= new
        logger.warning(
            "Reset keys that %s does not take are dropped (said once): %s",
            self.contract.definition.class_name,
            ", ".join(sorted(repr(key)[:_MAX_KEY_LENGTH] for key in new)[:_MAX_DROPPED_KEYS]),
            extra={"session_id": self.session_id},
        )


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine that never suspends, without an event loop.

    Raises:
        ExecutionError: It awaited something that is not ready at once.
    """
    try:
        work.send(None)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    work.close()
    raise ExecutionError('The environment awaits: declare execution = "async", so that it gets an event loop.')
