"""The event loop turns for a request that is about to come, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from openenv_gym_server.sockets import awake
from openenv_gym_server.sockets.awake import Awake

from tests.support.loops import LOOPS, run_on

PATIENCE = 20.0


class Watched:
    """An ``Awake`` whose turns are counted."""

    def __init__(self) -> None:
        self.turns = 0
        self.alone = True
        self.awake = Awake(self._is_alone)

    def _is_alone(self) -> bool:
        self.turns += 1
        return self.alone

    def is_turning(self) -> bool:
        return self.awake._is_scheduled

    async def until_still(self) -> None:
        while self.is_turning():
            await asyncio.sleep(0)

    async def turns_on(self) -> bool:
        """Whether further turns of the event loop are turns of it too."""
        before = self.turns
        for _ in range(5):
            await asyncio.sleep(0)
        return self.turns > before


Act = Callable[[Watched], Awaitable[None]]
Play = Callable[[Act], None]


@pytest.fixture(params=LOOPS)
def play(request: pytest.FixtureRequest) -> Play:
    """Runs a scene on either event loop."""

    def run(act: Act) -> None:
        async def scene() -> None:
            await act(Watched())

        run_on(request.param, scene(), PATIENCE)

    return run


@pytest.fixture
def for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in vain, however slow this machine is."""
    monkeypatch.setattr(awake, "AWAKE_SECONDS", 10 * PATIENCE)


def test_it_stops_after_its_time_and_sleeps_through_the_next_reply(play: Play) -> None:
    async def act(at: Watched) -> None:
        at.awake.replied()
        assert at.is_turning()
        await at.until_still()
        assert not await at.turns_on()
        at.awake.replied()
        assert not at.is_turning()
        at.awake.replied()
        assert at.is_turning()
        await at.until_still()

    play(act)


@pytest.mark.usefixtures("for_long")
def test_it_turns_until_the_client_is_back_and_again_after_the_next_reply(play: Play) -> None:
    async def act(at: Watched) -> None:
        for _ in range(3):
            at.awake.replied()
            assert await at.turns_on()
            at.awake.received()
            assert not await at.turns_on()
            assert not at.is_turning()

    play(act)


@pytest.mark.usefixtures("for_long")
def test_a_request_that_is_answered_at_once_has_it_turn_once_a_turn(play: Play) -> None:
    async def act(at: Watched) -> None:
        for _ in range(10):
            at.awake.replied()
            at.awake.received()
        at.awake.replied()
        await asyncio.sleep(0)
        assert at.turns == 1
        at.awake.received()
        await at.until_still()

    play(act)


@pytest.mark.usefixtures("for_long")
def test_it_stops_when_there_is_something_else_to_do_which_is_not_in_vain(play: Play) -> None:
    async def act(at: Watched) -> None:
        at.awake.replied()
        assert await at.turns_on()
        at.alone = False
        await at.until_still()
        at.alone = True
        at.awake.replied()
        assert await at.turns_on()
        at.awake.received()
        await at.until_still()

    play(act)


def test_where_it_is_turned_off_it_never_turns(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_GYM_SPIN", "0")

    async def act(at: Watched) -> None:
        for _ in range(3):
            at.awake.replied()
            assert not at.is_turning()
        assert at.turns == 0

    play(act)
