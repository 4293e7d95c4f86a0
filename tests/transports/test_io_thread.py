from __future__ import annotations

import _thread
import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openenv_gym.transports.io_thread import IoThread, io_thread
from tests.support.moments import happening_after

PATIENCE = 20.0

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fail() -> None:
    raise LookupError("as asked")


async def thread_name() -> str:
    return threading.current_thread().name


def test_a_process_has_one_io_thread() -> None:
    with ThreadPoolExecutor(8) as pool:
        threads = set(pool.map(lambda _: io_thread(), range(32)))
    assert len(threads) == 1


def test_work_runs_there_and_its_result_comes_back() -> None:
    assert io_thread().run(thread_name()) == "openenv-gym-io"
    assert io_thread().run(double(2)) == 4


def test_an_exception_of_the_work_is_the_callers() -> None:
    with pytest.raises(LookupError, match="as asked"):
        io_thread().run(fail())
    with pytest.raises(LookupError, match="as asked"):
        asyncio.run(io_thread().call(fail()))


def test_a_signal_that_comes_just_before_the_wait_ends_it() -> None:
    # It is noted as a signal is, but wakes no lock: so does one that comes between Python's last look and the wait.
    with pytest.raises(KeyboardInterrupt), happening_after(0.5, _thread.interrupt_main):
        io_thread().run(asyncio.sleep(3600.0))


def test_a_time_out_of_the_work_is_the_callers() -> None:
    async def late() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        io_thread().run(late())


def test_many_callers_of_a_loop_and_of_threads_each_get_their_own_result() -> None:
    async def main() -> list[int]:
        return await asyncio.gather(*(io_thread().call(double(number)) for number in range(500)))

    with ThreadPoolExecutor(8) as pool:
        others = pool.map(lambda number: io_thread().run(double(number)), range(500))
        assert asyncio.run(main()) == list(range(0, 1000, 2))
        assert list(others) == list(range(0, 1000, 2))


def test_work_awaited_on_the_thread_itself_runs_directly() -> None:
    async def nested() -> int:
        return await io_thread().call(double(4))

    assert io_thread().run(nested()) == 8


def test_blocking_the_thread_on_itself_is_refused() -> None:
    async def wrong() -> None:
        io_thread().run(double(1))

    with pytest.raises(RuntimeError, match="block"):
        io_thread().run(wrong())


def test_cancelling_the_caller_cancels_the_work() -> None:
    started, cancelled = threading.Event(), threading.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> None:
        caller = asyncio.create_task(io_thread().call(work(), on_unread=unread.set))
        assert await asyncio.to_thread(started.wait, PATIENCE)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller

    unread = threading.Event()
    asyncio.run(main())
    assert cancelled.wait(PATIENCE)
    io_thread().run(double(1))  # what was posted before has run
    assert not unread.is_set()


def test_work_whose_caller_is_interrupted_as_it_hands_it_over_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    thread = io_thread()
    hand_over = thread.loop.call_soon_threadsafe

    def interrupted(*args: Any) -> Any:
        monkeypatch.undo()
        hand_over(*args)
        assert begun.wait(PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(thread.loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        thread.run(work())
    assert ended.wait(PATIENCE)


def test_a_result_that_nobody_waited_for_is_reported() -> None:
    """The caller is cancelled while its loop has not yet seen that the work ended."""
    finished, unread = threading.Event(), threading.Event()

    async def work() -> None:
        finished.set()

    async def main() -> None:
        caller = asyncio.create_task(io_thread().call(work(), on_unread=unread.set))
        await asyncio.sleep(0)
        assert finished.wait(PATIENCE)  # blocks this loop
        io_thread().loop.call_soon_threadsafe(settled.set)
        assert settled.wait(PATIENCE)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller

    settled = threading.Event()
    asyncio.run(main())
    assert unread.wait(PATIENCE)


def test_a_loop_that_ended_before_its_reply_harms_nobody() -> None:
    release = threading.Event()

    async def work() -> None:
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, release.wait, PATIENCE))

    async def main() -> None:
        task = asyncio.create_task(io_thread().call(work()))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    release.set()
    assert io_thread().run(double(3)) == 6


def test_a_forked_child_has_a_thread_of_its_own() -> None:
    parent = io_thread()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            own = io_thread()
            os.write(write_end, b"ok" if own is not parent and own.run(double(5)) == 10 else b"no")
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        assert pipe.read() == b"ok"
    os.waitpid(pid, 0)
    assert parent.run(double(6)) == 12


def test_the_thread_does_not_keep_the_process_alive() -> None:
    assert isinstance(io_thread(), IoThread)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "openenv-gym-io")
