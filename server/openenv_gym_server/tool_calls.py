"""Runs one tool call after another, each within its time."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from functools import partial
from typing import Any

from openenv_gym_protocol.tools import ToolErrorType

from openenv_gym_server.tool_functions import OfferedTool, ToolFailed


class ToolCalls:
    """The calls of one environment, from its own thread and one at a time.

    A call without a limit runs where the environment runs. A plain function with one runs in a thread of its own: when
    it is late, its call is answered, and further calls are refused until it has returned, so that two never run at
    once. A coroutine function that is late is cancelled.
    """

    def __init__(self) -> None:
        self._late: threading.Thread | None = None
        self._runner: asyncio.Runner | None = None

    def run(self, tool: OfferedTool, arguments: dict[str, Any], limit: float | None) -> Any:
        """Calls a tool and waits for it.

        Args:
            tool: The tool.
            arguments: Its arguments by name.
            limit: The seconds it may take; None for as long as the server lets a step take.

        Raises:
            ToolFailed: The arguments do not fit, or the call was late, or an earlier one still runs.
            Exception: What the tool raised.
        """
        self._refuse_overlap(tool)
        value = tool.start(arguments) if limit is None or tool.is_async else self._run_aside(tool, arguments, limit)
        if not inspect.isawaitable(value):
            return value
        if asyncio._get_running_loop() is not None:
            if inspect.iscoroutine(value):
                value.close()
            raise _no_loop(tool)
        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(_within(value, tool, limit))

    async def run_async(self, tool: OfferedTool, arguments: dict[str, Any], limit: float | None) -> Any:
        """Calls a tool on the running event loop; as ``run``."""
        self._refuse_overlap(tool)
        if limit is None or tool.is_async:
            value = tool.start(arguments)
        else:
            value = await asyncio.to_thread(self._run_aside, tool, arguments, limit)
        return await _within(value, tool, limit) if inspect.isawaitable(value) else value

    def close(self) -> None:
        """Ends the event loop, if there is one."""
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def _refuse_overlap(self, tool: OfferedTool) -> None:
        if self._late is not None and self._late.is_alive():
            text = f"Tool {tool.tool.name!r} was not called: an earlier call, which timed out, still runs."
            raise ToolFailed(ToolErrorType.TIMEOUT, text)
        self._late = None

    def _run_aside(self, tool: OfferedTool, arguments: dict[str, Any], limit: float) -> Any:
        outcome: Future[Any] = Future()
        call = partial(_settle, outcome, tool, arguments)
        thread = threading.Thread(target=call, name="openenv-gym-tool", daemon=True)
        thread.start()
        try:
            return outcome.result(limit)
        except TimeoutError:
            if outcome.done():
                raise  # the tool's own
            self._late = thread
            raise _timed_out(tool, limit) from None


async def _within(value: Awaitable[Any], tool: OfferedTool, limit: float | None) -> Any:
    try:
        async with asyncio.timeout(limit) as deadline:
            return await value
    except TimeoutError:
        if limit is None or not deadline.expired():
            raise  # the tool's own
        raise _timed_out(tool, limit) from None


def _no_loop(tool: OfferedTool) -> ToolFailed:
    text = f"Tool {tool.tool.name!r} awaits: its environment needs thread or async execution, not inline."
    return ToolFailed(ToolErrorType.EXECUTION_ERROR, text, is_tools_fault=True)


def _timed_out(tool: OfferedTool, limit: float) -> ToolFailed:
    return ToolFailed(ToolErrorType.TIMEOUT, f"Tool {tool.tool.name!r} timed out after {limit} seconds")


def _settle(outcome: Future[Any], tool: OfferedTool, arguments: dict[str, Any]) -> None:
    try:
        outcome.set_result(tool.start(arguments))
    except BaseException as error:
        outcome.set_exception(error)
