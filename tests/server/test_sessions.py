from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from openenv_gym_protocol.errors import (
    CapacityReached,
    FactoryError,
    OpenEnvGymError,
    SessionError,
    SessionLost,
    StepTimeout,
)
from openenv_gym_server import Action, Environment, Observation, State
from openenv_gym_server.config import ServerConfig
from openenv_gym_server.contract import Contract
from openenv_gym_server.counters import Counters
from openenv_gym_server.definition import define
from openenv_gym_server.dispatch import Host
from openenv_gym_server.session import Session, SessionState
from openenv_gym_server.sessions import Sessions

from tests.support.apps.asynchronous import Answer, AsyncEnvironment, Command

PATIENCE = 20.0


class Clock:
    """A clock that is set by hand, besides running on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


class Gated(Environment[Action, Observation, State]):
    """Its steps wait until the gate is opened; what it did is written down."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    gate = threading.Event()
    waiting = threading.Semaphore(0)
    calls: list[tuple[str, int]]

    def __init__(self) -> None:
        super().__init__()
        self.calls = []
        self._note("ctor")

    def _note(self, name: str) -> None:
        self.calls.append((name, threading.get_ident()))

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> Observation:
        self._note("reset")
        return Observation()

    def step(self, action: Action) -> Observation:
        self._note("step")
        type(self).waiting.release()
        type(self).gate.wait(PATIENCE)
        return Observation()

    @property
    def state(self) -> State:
        self._note("state")
        return State()

    def close(self) -> None:
        self._note("close")


class SharedThread(Gated):
    REQUIRES_SINGLE_THREAD_EXECUTOR = True
    gate = threading.Event()
    waiting = threading.Semaphore(0)


class World:
    """Sessions of one environment, with a clock set by hand."""

    def __init__(self, environment: Any = Gated, *, slots: int = 2, **settings: Any) -> None:
        models = (Command, Answer) if environment is AsyncEnvironment else (Action, Observation)
        settings = {"capacity_wait": 0.0, **settings}
        self.contract = Contract(define(environment, *models), ServerConfig(**settings))
        self.counters = Counters()
        self.clock = Clock()
        self.sessions = Sessions(self.contract, max_sessions=slots, counters=self.counters, clock=self.clock)

    async def start_step(self, session: Session, **action: Any) -> asyncio.Future[Any]:
        """Starts a step and waits until its code runs."""
        step = asyncio.ensure_future(session.call(lambda host: host.step(action), now=self.clock()))
        await until(lambda: session.host.activity is not None)
        return step


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that another thread does, with a bound."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def environment_of(session: Session) -> Any:
    return session.host._environment


def play(world: World, scene: Callable[[World], Awaitable[None]]) -> None:
    """Runs a scene, and lets everything that waits go on at its end."""

    async def run() -> None:
        try:
            await scene(world)
        finally:
            for environment in (Gated, SharedThread):
                environment.gate.set()
            await world.sessions.shutdown(PATIENCE)
            for environment in (Gated, SharedThread):
                environment.gate.clear()

    asyncio.run(run())


def test_everything_of_one_session_runs_in_one_thread_that_is_not_the_servers() -> None:
    async def scene(world: World) -> None:
        Gated.gate.set()
        session = await world.sessions.open(socket=True)
        environment = environment_of(session)
        for work in (lambda host: host.reset({}), lambda host: host.step({}), Host.state):
            await session.call(work, now=0)
        world.sessions.close(session)
        await session.ended.wait()
        assert [name for name, _ in environment.calls] == ["ctor", "reset", "step", "state", "close"]
        assert len({thread for _, thread in environment.calls}) == 1
        assert environment.calls[0][1] != threading.get_ident()

    play(World(), scene)


def test_a_full_server_refuses_with_its_numbers() -> None:
    async def scene(world: World) -> None:
        for _ in range(2):
            await world.sessions.open(socket=True)
        with pytest.raises(CapacityReached) as caught:
            await world.sessions.open(socket=True)
        assert (caught.value.active_sessions, caught.value.max_sessions) == (2, 2)
        assert world.counters.sessions_refused == 1

    play(World(), scene)


def test_who_waits_gets_the_slot_that_becomes_free() -> None:
    async def scene(world: World) -> None:
        first = await world.sessions.open(socket=True)
        waiting = asyncio.ensure_future(world.sessions.open(socket=True))
        await until(lambda: world.sessions.capacity.waiting == 1)
        world.sessions.close(first)
        second = await waiting
        assert second.state is SessionState.OPEN
        assert world.sessions.capacity.taken == 1

    play(World(slots=1, capacity_wait=PATIENCE), scene)


def test_who_stops_waiting_leaves_no_trace() -> None:
    async def scene(world: World) -> None:
        first = await world.sessions.open(socket=True)
        waiting = asyncio.ensure_future(world.sessions.open(socket=True))
        await until(lambda: world.sessions.capacity.waiting == 1)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        world.sessions.close(first)
        await first.ended.wait()
        assert (world.sessions.capacity.taken, world.sessions.capacity.waiting) == (0, 0)

    play(World(slots=1, capacity_wait=PATIENCE), scene)


def test_a_session_that_cannot_be_made_leaves_no_trace() -> None:
    class Broken(Gated):
        def __init__(self) -> None:
            raise RuntimeError("no display")

    async def scene(world: World) -> None:
        with pytest.raises(FactoryError):
            await world.sessions.open(socket=True)
        await until(lambda: world.sessions.capacity.taken == 0)
        assert isinstance(world.sessions.last_construction, FactoryError)

    play(World(Broken), scene)


def test_a_call_past_its_deadline_ends_the_session_and_frees_the_slot(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        lost: list[OpenEnvGymError] = []
        session.on_lost = lost.append
        step = await world.start_step(session)
        world.clock.ahead = 301
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await step
        assert isinstance(lost[0], StepTimeout)
        assert (world.sessions.capacity.taken, world.counters.hung, session.state) == (0, 1, SessionState.HUNG)
        assert session.session_id in caplog.text
        with pytest.raises(SessionLost):
            await session.call(Host.state, now=0)

        environment = environment_of(session)
        Gated.gate.set()
        await session.ended.wait()
        assert (world.counters.hung, world.counters.hung_total) == (0, 1)
        assert environment.calls[-1][0] == "close"

    with caplog.at_level(logging.ERROR):
        play(World(), scene)


def test_before_its_deadline_a_call_is_left_alone() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        step = await world.start_step(session)
        world.clock.ahead = 299
        world.sessions.sweep()
        assert session.state is SessionState.OPEN
        Gated.gate.set()
        await step

    play(World(), scene)


def test_debug_has_no_deadline() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        step = await world.start_step(session)
        world.clock.ahead = 10_000
        world.sessions.sweep()
        assert session.state is SessionState.OPEN
        Gated.gate.set()
        await step

    play(World(debug=True), scene)


def test_the_requests_own_deadline_counts_where_it_is_shorter() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=False)
        step = asyncio.ensure_future(session.call(lambda host: host.step({}, {"timeout_s": 1.0}), now=0))
        await until(lambda: session.host.activity is not None)
        world.clock.ahead = 2
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await step

    play(World(), scene)


def test_a_constructor_that_hangs_frees_the_slot() -> None:
    class Slow(Gated):
        def __init__(self) -> None:
            Gated.gate.wait(PATIENCE)

    async def scene(world: World) -> None:
        opening = asyncio.ensure_future(world.sessions.open(socket=True))
        await until(lambda: any(s.host.activity for s in world.sessions._sessions.values()))
        world.clock.ahead = 601
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await opening
        assert (world.sessions.capacity.taken, world.counters.hung) == (0, 1)

    play(World(Slow), scene)


def test_a_close_that_hangs_frees_the_slot() -> None:
    class Clinging(Gated):
        def close(self) -> None:
            Gated.gate.wait(PATIENCE)

    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        world.sessions.close(session)
        await until(lambda: session.host.activity is not None)
        assert world.sessions.capacity.taken == 1
        world.clock.ahead = 11
        world.sessions.sweep()
        assert (world.sessions.capacity.taken, world.counters.hung) == (0, 1)
        Gated.gate.set()
        await session.ended.wait()
        assert world.counters.hung == 0

    play(World(Clinging), scene)


def test_a_client_that_went_away_in_mid_step_gives_its_slot_back_after_the_grace() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        step = await world.start_step(session)
        step.cancel()
        world.sessions.close(session)
        world.sessions.sweep()
        assert world.sessions.capacity.taken == 1
        world.clock.ahead = 6
        world.sessions.sweep()
        assert (world.sessions.capacity.taken, world.counters.hung) == (0, 0)
        world.clock.ahead = 301
        world.sessions.sweep()
        assert world.counters.hung == 1
        Gated.gate.set()
        await session.ended.wait()
        assert (world.sessions.capacity.taken, world.counters.hung) == (0, 0)

    play(World(), scene)


def test_a_session_without_a_socket_expires_when_idle_and_when_old() -> None:
    async def scene(world: World) -> None:
        idle = await world.sessions.open(socket=False)
        world.clock.ahead = 31
        world.sessions.sweep()
        await idle.ended.wait()
        with pytest.raises(SessionLost):
            world.sessions.find(idle.session_id)

        used = await world.sessions.open(socket=False)
        for ahead in (55, 80, 105):
            world.clock.ahead = ahead
            await used.call(Host.state, now=world.clock())
            world.sessions.sweep()
            assert used.state is SessionState.OPEN
        world.clock.ahead = 140
        await used.call(Host.state, now=world.clock())
        world.sessions.sweep()
        await used.ended.wait()
        assert world.counters.sessions_expired == 2

    play(World(session_idle_ttl=30, session_ttl=100), scene)


def test_a_session_with_a_socket_is_never_idle() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        world.clock.ahead = 1_000_000
        world.sessions.sweep()
        assert session.state is SessionState.OPEN

    play(World(), scene)


def test_environments_that_need_one_thread_share_it() -> None:
    async def scene(world: World) -> None:
        one, two = [await world.sessions.open(socket=True) for _ in range(2)]
        assert environment_of(one).calls[0][1] == environment_of(two).calls[0][1] != threading.get_ident()
        world.sessions.close(one)
        await one.ended.wait()
        await two.call(Host.state, now=0)

    play(World(SharedThread), scene)


def test_a_shared_thread_that_hangs_takes_its_sessions_along_and_is_replaced() -> None:
    async def scene(world: World) -> None:
        one, two = [await world.sessions.open(socket=True) for _ in range(2)]
        lost: list[OpenEnvGymError] = []
        two.on_lost = lost.append
        step = await world.start_step(one)
        world.clock.ahead = 301
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await step
        assert isinstance(lost[0], SessionError)
        assert (world.sessions.capacity.taken, world.counters.hung) == (0, 1)
        following = await world.sessions.open(socket=True)
        await following.call(Host.state, now=0)

    play(World(SharedThread), scene)


def test_what_waits_to_be_made_where_another_one_hangs_is_made_elsewhere() -> None:
    async def scene(world: World) -> None:
        hanging = await world.sessions.open(socket=True)
        step = await world.start_step(hanging)
        opening = [asyncio.ensure_future(world.sessions.open(socket=True)) for _ in range(2)]
        lanes = asyncio.ensure_future(world.sessions.open_lanes(2))
        await until(lambda: world.sessions.capacity.taken == 5)
        world.clock.ahead = 301
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await step
        made = [*await asyncio.gather(*opening), *await lanes]
        for session in made:
            await session.call(Host.state, now=0)
        assert (world.sessions.capacity.taken, world.counters.sessions_opened) == (4, 5)

    play(World(SharedThread, slots=5), scene)


def test_an_async_step_past_its_deadline_is_cancelled_and_its_environment_closed() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        neighbour = await world.sessions.open(socket=True)
        step = await world.start_step(session, do="forever")
        world.clock.ahead = 301
        world.sessions.sweep()
        with pytest.raises(StepTimeout):
            await step
        await session.ended.wait()
        assert (world.counters.hung, world.counters.hung_total) == (0, 1)
        assert neighbour.state is SessionState.OPEN
        await neighbour.call(lambda host: host.step({"do": "answer"}), now=0)

    play(World(AsyncEnvironment), scene)


def test_work_that_is_dropped_never_runs() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        environment = environment_of(session)
        step = await world.start_step(session)
        replies: list[str | None] = []
        session.exchange('{"type":"step","data":{}}', replies.append)
        world.sessions.close(session)
        step.cancel()
        Gated.gate.set()
        await session.ended.wait()
        assert [name for name, _ in environment.calls] == ["ctor", "step", "close"]
        assert replies == []

    play(World(), scene)


def test_what_sessions_did_is_counted() -> None:
    async def scene(world: World) -> None:
        Gated.gate.set()
        session = await world.sessions.open(socket=True)
        await session.call(lambda host: host.reset({}), now=0)
        await session.call(lambda host: host.step({}), now=0)
        world.sessions.close(session)
        await session.ended.wait()
        counters = world.counters
        ended = counters.ended
        assert (counters.sessions_opened, ended.resets, ended.steps, ended.failures) == (1, 1, 1, 0)

    play(World(), scene)


def test_transient_sessions_are_bounded_and_outside_the_capacity() -> None:
    async def scene(world: World) -> None:
        await world.sessions.open(socket=True)
        async with world.sessions.transient() as session:
            await session.call(Host.state, now=0)
            with pytest.raises(CapacityReached):
                async with world.sessions.transient():
                    raise AssertionError("two at a time")

    play(World(slots=1), scene)


def test_closing_a_session_ends_the_calls_that_wait_in_it() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=False)
        running = await world.start_step(session)
        waiting = asyncio.ensure_future(session.call(Host.state, now=0))
        await asyncio.sleep(0)
        world.sessions.close(session)
        async with asyncio.timeout(PATIENCE):
            for call in (running, waiting):
                with pytest.raises(SessionLost):
                    await call

    play(World(), scene)


def test_a_server_without_a_thread_for_a_session_is_full_and_loses_no_slot() -> None:
    async def scene(world: World) -> None:
        # No system has room for a stack of that size.
        usual = threading.stack_size(2**46)
        try:
            with pytest.raises(CapacityReached):
                await world.sessions.open(socket=True)
        finally:
            threading.stack_size(usual)
        assert world.sessions.capacity.taken == 0
        assert (await world.sessions.open(socket=True)).state is SessionState.OPEN

    play(World(slots=1), scene)


def test_lanes_are_opened_all_or_none_where_threads_run_out() -> None:
    async def scene(world: World) -> None:
        usual = threading.stack_size(2**46)
        try:
            with pytest.raises(CapacityReached):
                await world.sessions.open_lanes(3)
        finally:
            threading.stack_size(usual)
        assert world.sessions.capacity.taken == 0
        lanes = await world.sessions.open_lanes(3)
        assert [lane.state for lane in lanes] == [SessionState.OPEN] * 3
        assert world.sessions.capacity.taken == 3

    play(World(slots=3), scene)


def test_lanes_of_which_one_cannot_be_made_are_all_closed() -> None:
    made: list[int] = []

    def factory() -> Gated:
        made.append(1)
        if len(made) == 2:
            raise RuntimeError("not this one")
        return Gated()

    async def scene(world: World) -> None:
        with pytest.raises(FactoryError):
            await world.sessions.open_lanes(3)
        async with asyncio.timeout(PATIENCE):
            while world.sessions.capacity.taken:
                await asyncio.sleep(0.01)

    world = World(slots=3)
    world.sessions.contract.definition = replace(world.sessions.contract.definition, factory=factory)
    play(world, scene)


def test_a_session_of_many_lanes_takes_as_many_slots() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open_vector(3)
        assert world.sessions.capacity.taken == 3
        world.sessions.close(session)
        async with asyncio.timeout(PATIENCE):
            await session.ended.wait()
        assert world.sessions.capacity.taken == 0

    def factory(num_envs: int) -> Gated:
        assert num_envs == 3
        return Gated()

    world = World(slots=3)
    world.sessions.contract.definition = replace(world.sessions.contract.definition, factory=factory)
    play(world, scene)


def test_a_request_with_patience_of_its_own_is_not_cut_short_by_the_server_limit() -> None:
    async def scene(world: World) -> None:
        session = await world.sessions.open(socket=True)
        session.host.patience = 1000.0
        running = await world.start_step(session)
        world.clock.ahead += 900
        world.sessions.sweep()
        assert world.counters.hung == 0
        world.clock.ahead += 200
        world.sessions.sweep()
        assert world.counters.hung == 1
        with pytest.raises(StepTimeout):
            await running

    play(World(), scene)
