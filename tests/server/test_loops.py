from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

from openenv_gym_server.loops import run_to_end, runs_on_a_loop, wait_for


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
