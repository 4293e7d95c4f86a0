from __future__ import annotations

import asyncio
import threading

from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.thread import ThreadWorker, WorkThread

PATIENCE = 20.0


def test_jobs_run_in_order_on_the_thread_and_reply_on_the_loop() -> None:
    async def scene() -> None:
        thread = WorkThread(asyncio.get_running_loop(), "test")
        worker = ThreadWorker(thread, owned=True)
        replies: list[tuple[int, int]] = []
        last = asyncio.get_running_loop().create_future()

        async def work() -> int:
            return threading.get_ident()

        for _ in range(3):
            worker.submit(Job(work, lambda result: replies.append((result, threading.get_ident()))))
        worker.finish(Job(work, last.set_result))
        await asyncio.wait_for(last, PATIENCE)
        assert replies == [(thread.thread.ident, threading.get_ident())] * 3
        await asyncio.to_thread(thread.thread.join, PATIENCE)
        assert not thread.thread.is_alive()

    asyncio.run(scene())


def test_an_abandoned_worker_drops_what_waits_and_does_the_last() -> None:
    async def scene() -> None:
        thread = WorkThread(asyncio.get_running_loop(), "test")
        worker = ThreadWorker(thread, owned=True)
        gate, ran = threading.Event(), list[str]()
        last = asyncio.get_running_loop().create_future()

        async def work(name: str) -> None:
            gate.wait(PATIENCE)
            ran.append(name)

        worker.submit(Job(lambda: work("running"), lambda _: None))
        worker.submit(Job(lambda: work("waiting"), lambda _: None))
        worker.abandon()
        worker.finish(Job(lambda: work("last"), last.set_result))
        gate.set()
        await asyncio.wait_for(last, PATIENCE)
        assert "waiting" not in ran
        assert ran[-1] == "last"

    asyncio.run(scene())


def test_a_thread_outlives_the_loop_it_replies_to() -> None:
    gate = threading.Event()

    async def work() -> None:
        gate.wait(PATIENCE)

    async def scene() -> WorkThread:
        thread = WorkThread(asyncio.get_running_loop(), "test")
        worker = ThreadWorker(thread, owned=True)
        worker.finish(Job(work, lambda _: None))
        return thread

    thread = asyncio.run(scene())
    gate.set()
    thread.thread.join(PATIENCE)
    assert not thread.thread.is_alive()
