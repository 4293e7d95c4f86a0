"""Calls into environment code: what is under way, for how long, and what becomes of its failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from openenv_gym_protocol.errors import ExecutionError, InvalidAction, InvalidMessage

from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Tally
from openenv_gym_server.loops import runs_on_a_loop

NO_OPTIONS: Mapping[str, Any] = {}
_T = TypeVar("_T")


class Activity(msgspec.Struct, frozen=True, gc=False):
    """A call into environment code that is under way; a Struct, because every step of every lane makes one.

    Attributes:
        operation: What it is called.
        started: On the monotonic clock, in seconds.
        timeout_s: The request's own deadline, in seconds, where its transport can carry one.
    """

    operation: str
    started: float
    timeout_s: float | None = None


class Watched:
    """One session's calls into environment code, one after another.

    Attributes:
        activity: The call into environment code under way, if any; other threads may read it.
        abandoned: Nobody waits for its answers any more, so that a cancelled call may end without one.
        patience: The seconds that the running request allows, where its transport carries a deadline and keeps it
            itself; the server's own limits are not shorter then.
        tally: What it has done.
    """

    def __init__(self, contract: Contract, session_id: str) -> None:
        self.contract = contract
        self.session_id = session_id
        self.activity: Activity | None = None
        self.abandoned = False
        self.patience: float | None = None
        self.tally = Tally()

    def report(self, error: BaseException, operation: str) -> ExecutionError:
        """Logs a failure of the environment's code and returns what to tell the client."""
        self.tally.failures += 1
        return self.contract.reporter.report(error, operation=operation, session_id=self.session_id)

    def is_cancelled(self, error: BaseException) -> bool:
        """Whether the server cancels the running call, rather than the environment raising that class.

        An environment may cancel every task it finds, its own and other sessions' included; those are failures.
        """
        return self.abandoned and isinstance(error, asyncio.CancelledError) and runs_on_a_loop()

    def at_once(
        self,
        step: Callable[..., Any],
        action: Any,
        read: Callable[[Any, Any], _T],
        options: Mapping[str, Any] = NO_OPTIONS,
        timeout_s: float | None = None,
    ) -> _T:
        """Calls a plain method for a step, and reads what it returns under the same guard.

        Args:
            step: The method.
            action: Its argument.
            read: Gets this object and what the method returned.
            options: Its further arguments.
            timeout_s: The request's own deadline, in seconds.

        Raises:
            InvalidMessage: The environment raised ``InvalidAction``.
            ExecutionError: The environment failed.
        """
        tally = self.tally
        tally.steps += 1
        started = time.monotonic()
        self.activity = Activity("step", started, timeout_s)
        try:
            return read(self, step(action, **options) if options else step(action))
        except InvalidAction as error:
            raise InvalidMessage(error.message) from error
        except BaseException as error:
            raise self.report(error, "step") from error
        finally:
            self.activity = None
            tally.time("step", started)

    async def guarded(
        self,
        operation: str,
        work: Coroutine[Any, Any, _T],
        *,
        timeout_s: float | None = None,
        passed_on: tuple[type[Exception], ...] = (),
    ) -> _T:
        """Awaits a call into environment code.

        Args:
            operation: What it is called.
            work: The call.
            timeout_s: The request's own deadline, in seconds.
            passed_on: Exceptions that are no failures of the environment.

        Raises:
            ExecutionError: The environment failed.
        """
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
