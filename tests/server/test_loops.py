from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Generator

import pytest
from openenv_gym_server.loops import is_plain, run_to_end, runs_on_a_loop, wait_for


def test_a_task_runs_on_a_loop_and_a_thread_or_callback_does_not() -> None:
    told: list[bool] = []

    async def work() -> bool:
        thread = threading.Thread(target=lambda: told.append(runs_on_a_loop()))
        thread.start()
        thread.join()
        asyncio.get_running_loop().call_soon(lambda: told.append(runs_on_a_loop()))
        await asyncio.sleep(0)
        return runs_on_a_loop()

    assert runs_on_a_loop() is False
    assert asyncio.run(work()) is True
    assert told == [False, False]


def test_a_coroutine_that_is_run_by_hand_runs_on_no_loop() -> None:
    async def work() -> bool:
        return runs_on_a_loop()

    assert run_to_end(work()) is False


class Awaitable:
    def __await__(self) -> Generator[None, None, str]:
        yield from ()
        return "ready"


def test_any_awaitable_is_a_coroutine_that_gives_its_result() -> None:
    assert run_to_end(wait_for(Awaitable())) == "ready"

    async def work() -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "later")
        return await wait_for(future)

    assert asyncio.run(work()) == "later"


@pytest.mark.parametrize("value", [1, [], None, object()])
def test_what_cannot_be_awaited_is_plain(value: object) -> None:
    assert is_plain(type(value))


def test_what_may_be_awaited_is_not_plain() -> None:
    @types.coroutine
    def old() -> Generator[None]:
        yield

    async def new() -> None: ...

    class Own:
        def __await__(self) -> Generator[None]:
            yield

    coroutine = new()
    assert not any(map(is_plain, (type(coroutine), type(old()), Own, asyncio.Future)))
    coroutine.close()
