from __future__ import annotations

import asyncio
import gc
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_server.rewards.awaiting import Steps, abandon, all_settled, finish, settled, wait_here


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def failing() -> Any:
    await asyncio.sleep(0)
    raise LookupError("later")


def added(*values: Any) -> Steps[int]:
    total = 0
    for value in values:
        total += yield from settled(value)
    return total


def test_what_awaits_nothing_is_done_at_once() -> None:
    assert finish(added(1, 2)) == 3


def test_what_awaits_goes_on_after_each() -> None:
    pending = finish(added(1, later(2), 3, later(4)))
    assert asyncio.run(pending) == 10  # type: ignore[arg-type]


def test_a_failure_arises_where_it_was_awaited() -> None:
    def careful() -> Steps[str]:
        try:
            yield from settled(failing())
        except LookupError as error:
            return str((yield from settled(later(error))))
        return "nothing"

    assert asyncio.run(finish(careful())) == "later"  # type: ignore[arg-type]
    with pytest.raises(LookupError, match="later"):
        asyncio.run(finish(added(1, failing())))  # type: ignore[arg-type]


def test_several_are_awaited_at_the_same_time_and_stay_in_order() -> None:
    async def run() -> list[Any]:
        meeting = asyncio.Barrier(2)

        async def meet(value: int) -> int:
            async with asyncio.timeout(20):
                await meeting.wait()
            return value

        pending: Any = finish(all_settled([1, meet(2), 3, meet(4)]))
        return list(await pending)

    assert asyncio.run(run()) == [1, 2, 3, 4]


def test_where_one_of_several_fails_the_others_are_cancelled() -> None:
    cancelled = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    with pytest.raises(LookupError, match="later"):
        asyncio.run(finish(all_settled([endless(), failing()])))  # type: ignore[arg-type]
    assert cancelled == [True]


def test_what_is_given_up_leaves_no_warning() -> None:
    abandon([1, finish(added(1, finish(all_settled([later(2), finish(added(later(3)))])))), later(4)])
    gc.collect()  # a warning is an error in this suite


def test_threads_without_a_loop_wait_on_one_that_they_share() -> None:
    async def where() -> Any:
        await asyncio.sleep(0)
        return asyncio.get_running_loop(), threading.current_thread().name

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: wait_here(where()), range(8)))
    assert len(found) == 1
    assert wait_here(3) == 3


def test_where_a_loop_runs_waiting_is_refused_with_the_remedy() -> None:
    async def wait() -> None:
        wait_here(finish(added(1, later(2))))

    with pytest.raises(ExecutionError, match=r"await self\._apply_rubric_async"):
        asyncio.run(wait())
    gc.collect()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    assert wait_here(later(1)) == 1
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(wait_here(later(2))))
    child.start()
    sender.close()
    assert receiver.poll(30)
    assert receiver.recv() == 2
    child.join(30)
    receiver.close()
    assert child.exitcode == 0
