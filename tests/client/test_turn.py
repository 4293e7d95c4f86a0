from __future__ import annotations

import asyncio

import pytest

from openenv_gym.client.turn import Turn


def test_it_is_taken_once_and_again_when_it_was_given_back() -> None:
    turn = Turn()
    assert turn.take()
    assert not turn.take()
    turn.give_back()
    assert turn.take()


def test_who_waits_is_served_in_the_order_of_coming_and_before_who_takes() -> None:
    async def main() -> list[int]:
        turn, served = Turn(), list[int]()
        assert turn.take()

        async def wait(number: int) -> None:
            async with turn:
                served.append(number)
                assert not turn.take()

        tasks = [asyncio.ensure_future(wait(number)) for number in range(3)]
        await asyncio.sleep(0)
        turn.give_back()
        assert not turn.take(), "it is the first one's who waits"
        await asyncio.gather(*tasks)
        assert turn.take()
        return served

    assert asyncio.run(main()) == [0, 1, 2]


@pytest.mark.parametrize("was_handed_over", [False, True])
def test_who_is_cancelled_keeps_it_from_nobody(was_handed_over: bool) -> None:
    async def main() -> None:
        turn = Turn()
        assert turn.take()

        async def wait() -> None:
            async with turn:
                pass

        cancelled, other = asyncio.ensure_future(wait()), asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        if was_handed_over:
            turn.give_back()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        if not was_handed_over:
            turn.give_back()
        await other
        assert turn.take()

    asyncio.run(main())
