"""An environment has one call at a time, and a call that was interrupted anywhere leaves nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from gymnasium.error import NoAsyncCallError
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.guard import Guard, one_at_a_time
from openenv_gym.bridge.lanes.answers import Inbox
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.errors import ConcurrentCall
from openenv_gym.transports.io_thread import IoThread
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.servers import RunningServer, killed, running_server

pytestmark = pytest.mark.usefixtures("io_by")


class Late(Exception):
    """What the handler of an alarm raises."""


class Alone:
    """An environment of which only the guard is looked at."""

    def __init__(self) -> None:
        self._guard = Guard()
        self.abandoned = 0
        self.interrupts = 0

    @one_at_a_time
    def call(self, error: BaseException | None = None, *, is_at_work: bool = True) -> str:
        self._guard.is_at_work = is_at_work
        if error is not None:
            raise error
        return "done"

    @one_at_a_time
    def call_within(self) -> str:
        return self.call()

    def _abandon_call(self) -> None:
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        self.abandoned += 1


class Played:
    """An environment of either class, played in the same way."""

    def __init__(self, kind: type[RemoteEnv] | type[RemoteVectorEnv], base_url: str, wire: Wire) -> None:
        self.env: Any = kind(base_url, wire=wire)

    def step(self, command: str) -> list[float]:
        """Takes a step; the observation counts those of the episode."""
        order: dict[str, Any] = {"command": np.array([COMMANDS.index(command)]), "value": np.array([0])}
        batched = isinstance(self.env, RemoteVectorEnv)
        action = {name: value[np.newaxis] for name, value in order.items()} if batched else order
        observation: list[float] = self.env.step(action)[0].ravel().tolist()
        return observation


@pytest.fixture(scope="module")
def hanging() -> Iterator[RunningServer]:
    """A server whose sessions may hang: it has to be killed."""
    with running_server("tests.support.apps.bridge_faults:app") as server, killed(server):
        yield server


@pytest.fixture(params=[RemoteEnv, RemoteVectorEnv])
def played(request: pytest.FixtureRequest, hanging: RunningServer, wire: Wire) -> Iterator[Played]:
    played = Played(request.param, hanging.base_url, wire)
    with closing(played.env):
        played.env.reset()
        yield played


@pytest.fixture
def in_the_midst(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Has something happen in the midst of the next call, where that waits for answers or takes them."""

    def arm(happening: Callable[[], Any]) -> None:
        def first(method: Callable[..., Any]) -> Callable[..., Any]:
            def called(*args: Any) -> Any:
                monkeypatch.undo()
                happening()
                return method(*args)

            return called

        monkeypatch.setattr(Inbox, "wait", first(Inbox.wait))
        monkeypatch.setattr(Inbox, "take", first(Inbox.take))

    return arm


@pytest.fixture
def alarm() -> Iterator[Callable[[], None]]:
    """Rings an alarm whose handler raises."""

    def late(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    yield lambda: signal.raise_signal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, before)


def test_a_call_that_meets_another_is_refused_and_harms_nothing(
    played: Played, in_the_midst: Callable[[Callable[[], Any]], None]
) -> None:
    refused: list[BaseException | None] = []

    def meanwhile() -> None:
        with ThreadPoolExecutor(1) as other:
            refused.extend(other.submit(call).exception(20) for call in (played.env.reset, lambda: played.step("fine")))
        with pytest.raises(ConcurrentCall):
            played.env.reset()  # as the handler of a signal may

    in_the_midst(meanwhile)
    assert played.step("fine") == [1.0]
    assert [type(error) for error in refused] == [ConcurrentCall] * 2
    assert played.step("fine") == [2.0]
    with ThreadPoolExecutor(1) as other:
        assert other.submit(played.step, "fine").result(20) == [3.0], "threads may take turns"


def test_closing_ends_the_call_that_is_under_way(
    played: Played, in_the_midst: Callable[[Callable[[], Any]], None]
) -> None:
    def meanwhile() -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(played.env.close).result(20)

    in_the_midst(meanwhile)
    with pytest.raises(errors.InfrastructureFailure):
        played.step("hang")
    with pytest.raises(errors.ClientClosed):
        played.step("fine")


def test_what_a_signals_handler_raises_leaves_nothing_pending(
    played: Played, in_the_midst: Callable[[Callable[[], Any]], None], alarm: Callable[[], None]
) -> None:
    in_the_midst(alarm)
    with pytest.raises(Late):
        played.step("hang")
    with pytest.raises(errors.SessionLost):
        played.step("fine")
    if isinstance(played.env, RemoteVectorEnv):
        with pytest.raises(NoAsyncCallError):
            played.env.step_wait()
    played.env.reset()
    assert played.step("fine") == [1.0]


def test_a_second_interrupt_while_the_first_is_seen_to_leaves_nothing_pending(
    played: Played,
    in_the_midst: Callable[[Callable[[], Any]], None],
    alarm: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_: IoThread, work: Coroutine[Any, Any, Any]) -> Any:
        monkeypatch.undo()
        work.close()
        raise KeyboardInterrupt

    def twice() -> None:
        monkeypatch.setattr(IoThread, "run", interrupted)
        alarm()

    in_the_midst(twice)
    with pytest.raises(KeyboardInterrupt):
        played.step("hang")
    with pytest.raises(errors.SessionLost):
        played.step("fine")
    played.env.reset()
    assert played.step("fine") == [1.0]


def test_only_what_began_to_work_and_came_to_no_end_is_abandoned() -> None:
    env = Alone()
    assert env.call() == "done"
    with pytest.raises(ValueError, match="seed"):
        env.call(ValueError("seed"), is_at_work=False)
    with pytest.raises(errors.SessionLost):
        env.call(errors.SessionLost("gone"))
    assert env.abandoned == 0
    with pytest.raises(ValueError, match="handler"):
        env.call(ValueError("handler"))
    assert env.abandoned == 1
    assert env.call() == "done"
    assert env.abandoned == 1


def test_what_could_not_be_abandoned_is_before_the_next_call() -> None:
    env = Alone()
    env.interrupts = 2
    with pytest.raises(KeyboardInterrupt):
        env.call(Late())
    with pytest.raises(KeyboardInterrupt):
        env.call()
    assert env.abandoned == 0
    assert env.call() == "done"
    assert env.abandoned == 1


def test_calls_within_calls_are_refused() -> None:
    with pytest.raises(ConcurrentCall):
        Alone().call_within()


def test_a_forked_child_does_not_wait_for_a_thread_that_it_has_not() -> None:
    env = Alone()
    with env._guard.lock:
        child = os.fork()
        if child == 0:
            try:
                env.call()
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        with pytest.raises(ConcurrentCall):
            env.call()
