"""Calls run one after another, each within its time, where its environment can have it run."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from openenv_gym_protocol.tools import ToolErrorType
from openenv_gym_server.tool_calls import ToolCalls
from openenv_gym_server.tool_functions import ToolFailed, ToolFunction

LONG = 30.0


def tool(function: Any) -> ToolFunction:
    return ToolFunction(function, name="tool")


def thread_id() -> int:
    return threading.get_ident()


async def loop_id() -> int:
    await asyncio.sleep(0)
    return id(asyncio.get_running_loop())


def test_without_a_limit_a_function_runs_where_the_environment_does_and_with_one_aside() -> None:
    calls = ToolCalls()
    assert calls.run(tool(thread_id), {}, None) == threading.get_ident()
    assert calls.run(tool(thread_id), {}, LONG) != threading.get_ident()


def test_coroutines_of_one_environment_share_a_loop_until_it_is_closed() -> None:
    calls = ToolCalls()
    assert calls.run(tool(loop_id), {}, None) == calls.run(tool(loop_id), {}, LONG)
    calls.close()
    calls.close()


def test_what_runs_aside_raises_its_own_exception() -> None:
    def fail() -> None:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        ToolCalls().run(tool(fail), {}, LONG)


@pytest.mark.parametrize("limit", [None, LONG])
def test_a_time_out_that_the_function_raises_is_not_the_calls(limit: float | None) -> None:
    def give_up() -> None:
        raise TimeoutError("own")

    with pytest.raises(TimeoutError, match="own"):
        ToolCalls().run(tool(give_up), {}, limit)


def test_after_a_late_function_calls_are_refused_until_it_has_returned() -> None:
    returned, calls = threading.Event(), ToolCalls()
    with pytest.raises(ToolFailed) as late:
        calls.run(tool(lambda: returned.wait(LONG)), {}, 0.01)
    assert late.value.error.error_type == ToolErrorType.TIMEOUT
    with pytest.raises(ToolFailed, match="still runs"):
        calls.run(tool(thread_id), {}, None)
    returned.set()
    for thread in threading.enumerate():
        if thread.name == "openenv-gym-tool":
            thread.join(LONG)
    assert calls.run(tool(thread_id), {}, None) == threading.get_ident()


def test_a_late_coroutine_is_cancelled_and_holds_up_nothing() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    calls = ToolCalls()
    with pytest.raises(ToolFailed, match=r"timed out after 0\.01 seconds"):
        calls.run(tool(wait), {}, 0.01)
    assert ended == ["cancelled"]
    assert calls.run(tool(thread_id), {}, None) == threading.get_ident()
    calls.close()


def test_on_a_loop_coroutines_run_on_it_and_limited_functions_beside_it() -> None:
    async def work() -> None:
        calls = ToolCalls()
        assert await calls.run_async(tool(loop_id), {}, LONG) == id(asyncio.get_running_loop())
        assert await calls.run_async(tool(thread_id), {}, None) == threading.get_ident()
        assert await calls.run_async(tool(thread_id), {}, LONG) != threading.get_ident()

    asyncio.run(work())


def test_a_coroutine_without_a_loop_of_its_own_is_refused_on_the_servers() -> None:
    async def work() -> None:
        with pytest.raises(ToolFailed, match="not inline") as refused:
            ToolCalls().run(tool(loop_id), {}, None)
        assert refused.value.is_tools_fault

    asyncio.run(work())
