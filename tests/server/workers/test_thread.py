from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from openenv_gym_server.workers.base import Job
from openenv_gym_server.workers.thread import Relay, ThreadWorker, WorkThread

PATIENCE = 20.0


class Crew:
    """Threads that one relay serves, and what they replied."""

    def __init__(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        relay = Relay(loop)
        self.threads = [WorkThread(loop, f"crew-{number}", relay) for number in range(count)]
        self.workers = [ThreadWorker(thread, owned=True) for thread in self.threads]
        self.replies: list[list[int]] = [[] for _ in self.threads]
        self.came = asyncio.Event()

    def ask(self, number: int, value: int, gate: threading.Event | None = None) -> None:
        """Has a thread reply a value, once a gate is open."""

        async def work() -> int:
            if gate is not None:
                gate.wait(PATIENCE)
            return value

        def note(result: int) -> None:
            self.replies[number].append(result)
            self.came.set()

        self.workers[number].submit(Job(work, note))

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.came.clear()
            await self.came.wait()

    async def end(self) -> None:
        for thread in self.threads:
            thread.end()
        for thread in self.threads:
            await asyncio.to_thread(thread.thread.join, PATIENCE)
            assert not thread.thread.is_alive()


def run(act: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(act, PATIENCE))


def test_threads_that_block_hold_up_no_other() -> None:
    async def act() -> None:
        crew, gate = Crew(8), threading.Event()
        for number in range(8):
            crew.ask(number, 1, gate if number % 2 == 0 else None)
        await crew.until(lambda: crew.replies == [[], [1]] * 4)
        for number in range(8):  # those that block get more: they are busy, and the line goes past them
            crew.ask(number, 2)
        await crew.until(lambda: crew.replies == [[], [1, 2]] * 4)
        gate.set()
        await crew.until(lambda: crew.replies == [[1, 2]] * 8)
        await crew.end()

    run(act())


def test_every_call_is_done_once_and_in_order_whatever_blocks() -> None:
    async def act() -> None:
        crew, gate, chance = Crew(12), threading.Event(), random.Random(0)
        crew.ask(0, -1, gate)
        asked: list[list[int]] = [[-1], *([] for _ in range(11))]
        for value in range(4000):
            number = chance.randrange(12)
            asked[number].append(value)
            crew.ask(number, value)
            if chance.random() < 0.2:
                await asyncio.sleep(0)
        await crew.until(lambda: crew.replies[1:] == asked[1:])
        gate.set()
        await crew.until(lambda: crew.replies == asked)
        await crew.end()

    run(act())


def test_a_reply_that_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def act() -> None:
        crew = Crew(2)

        async def work() -> str:
            return "text"

        crew.workers[0].submit(Job(work, lambda text: print(int(text))))
        crew.ask(0, 1)
        crew.ask(1, 1)
        await crew.until(lambda: crew.replies == [[1], [1]])
        await crew.end()

    run(act())
    assert "A result was not taken" in caplog.text


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


def test_a_thread_that_is_done_before_its_waker_goes_on_leaves_nobody_behind() -> None:
    async def act() -> None:
        crew = Crew(8)
        for turn in range(1, 1001):
            for number in range(8):
                crew.ask(number, turn)
            await crew.until(lambda turn=turn: all(len(replies) == turn for replies in crew.replies))  # type: ignore[misc]
        await crew.end()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run(act())
    finally:
        sys.setswitchinterval(interval)


def test_the_calls_of_a_thread_keep_their_order_while_many_threads_hand_them_on() -> None:
    async def act() -> None:
        crew = Crew(8)
        for value in range(3000):
            for number in range(8):
                crew.ask(number, value)
            if value % 3 == 0:
                await asyncio.sleep(0)
        await crew.until(lambda: all(len(replies) == 3000 for replies in crew.replies))
        assert all(replies == sorted(replies) for replies in crew.replies)
        await crew.end()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run(act())
    finally:
        sys.setswitchinterval(interval)
