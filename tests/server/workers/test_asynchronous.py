from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from openenv_gym_server.workers.asynchronous import AsyncLoop, AsyncWorker
from openenv_gym_server.workers.base import Job

from tests.support.log_records import records_of_ours

PATIENCE = 20.0


async def ask(worker: AsyncWorker, work: Callable[[], Any]) -> Any:
    answer = asyncio.get_running_loop().create_future()
    worker.submit(Job(work, answer.set_result))
    return await asyncio.wait_for(answer, PATIENCE)


def test_jobs_run_in_order_on_the_loops_own_thread() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        worker = AsyncWorker(home)
        order: list[int] = []

        async def work(number: int, seconds: float) -> int:
            await asyncio.sleep(seconds)
            order.append(number)
            return threading.get_ident()

        threads = await asyncio.gather(*(ask(worker, partial(work, n, 0.02 / (n + 1))) for n in range(3)))
        assert order == [0, 1, 2]
        assert set(threads) == {home.thread.ident}
        home.end()

    asyncio.run(scene())


def test_sessions_do_not_wait_for_each_other() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        release = asyncio.Event()

        async def wait() -> str:
            await release.wait()
            return "released"

        async def let_go() -> str:
            release.set()
            return "let go"

        first = asyncio.ensure_future(ask(AsyncWorker(home), wait))
        assert await ask(AsyncWorker(home), let_go) == "let go"
        assert await first == "released"
        home.end()

    asyncio.run(scene())


def test_an_abandoned_worker_cancels_what_runs_drops_what_waits_and_does_the_last() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        worker = AsyncWorker(home)
        running, done = threading.Event(), asyncio.get_running_loop().create_future()
        ran: list[str] = []

        async def forever() -> None:
            running.set()
            await asyncio.Event().wait()

        async def note(name: str) -> None:
            ran.append(name)

        worker.submit(Job(forever, lambda _: None))
        worker.submit(Job(lambda: note("waiting"), lambda _: None))
        await asyncio.to_thread(running.wait, PATIENCE)
        worker.abandon()
        worker.finish(Job(lambda: note("last"), done.set_result))
        await asyncio.wait_for(done, PATIENCE)
        assert ran == ["last"]
        home.end()

    asyncio.run(scene())


def test_a_blocked_loop_is_noticed_and_logged_once_with_the_place(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        blocked, release = threading.Event(), threading.Event()

        def block_the_loop() -> None:
            blocked.set()
            release.wait(PATIENCE)

        home.call(block_the_loop)
        await asyncio.to_thread(blocked.wait, PATIENCE)
        assert home.blocked_for(10.0) == 0.0
        assert home.blocked_for(12.5) == 2.5
        home.log_block(2.5, ["session-1"])
        home.log_block(3.5, ["session-1"])
        release.set()
        end = time.monotonic() + PATIENCE
        while home.blocked_for(20.0) and time.monotonic() < end:
            await asyncio.sleep(0.005)
        assert home.blocked_for(20.0) == 0.0
        home.end()

    with caplog.at_level(logging.WARNING):
        asyncio.run(scene())
    assert len(records_of_ours(caplog)) == 1
    assert "session-1" in caplog.text
    assert "block_the_loop" in caplog.text


def test_an_ended_loop_takes_calls_and_does_nothing() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        home.end()
        await asyncio.to_thread(home.thread.join, PATIENCE)
        assert not home.thread.is_alive()
        home.call(lambda: None)

    asyncio.run(scene())


def test_a_retired_loop_ends_when_its_last_session_is_closed() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        worker = AsyncWorker(home)

        async def work() -> str:
            return "done"

        home.retire()
        assert await ask(worker, work) == "done"
        worker.finish(Job(work, lambda _: None))
        await asyncio.to_thread(home.thread.join, PATIENCE)
        assert not home.thread.is_alive()

    asyncio.run(scene())


def test_a_stray_task_that_exits_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        worker = AsyncWorker(home)

        async def leave() -> None:
            raise SystemExit(3)

        async def start_stray() -> str:
            stray = home.loop.create_task(leave())
            await asyncio.wait({stray})
            assert isinstance(stray.exception(), SystemExit)
            return "still here"

        assert await ask(worker, start_stray) == "still here"
        home.end()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert "tried to end the process" in caplog.text


def test_an_environment_that_stops_the_loop_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())

        async def stop() -> str:
            asyncio.get_running_loop().stop()
            return "stopped"

        async def answer() -> str:
            return "here"

        assert await ask(AsyncWorker(home), stop) == "stopped"
        assert await ask(AsyncWorker(home), answer) == "here"
        home.end()
        await asyncio.to_thread(home.thread.join, PATIENCE)
        assert not home.thread.is_alive()

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    assert "stopped the loop" in caplog.text


def test_an_environment_that_cancels_every_task_ends_no_other_session() -> None:
    async def scene() -> None:
        home = AsyncLoop(asyncio.get_running_loop())
        other = AsyncWorker(home)

        async def cancel_all() -> str:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
            return "cancelled"

        async def answer() -> str:
            return "here"

        assert await ask(other, answer) == "here"
        culprit = AsyncWorker(home)
        # What was asked in between is cancelled before it begins, and is done all the same.
        asked = [asyncio.ensure_future(ask(worker, answer)) for worker in (other, other)]
        assert await ask(culprit, cancel_all) == "cancelled"
        assert await asyncio.gather(*asked) == ["here", "here"]
        assert await ask(culprit, answer) == await ask(other, answer) == "here"
        home.end()
        await asyncio.to_thread(home.thread.join, PATIENCE)
        assert not home.thread.is_alive()

    asyncio.run(scene())
