"""Servers are started at the same time, a few at once; one that fails stops the rest, and nothing is leaked."""

from __future__ import annotations

import _thread
import threading

import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.servers.lot import STARTS_AT_ONCE, Lot
from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.base import ConnectionOptions

SECONDS = 30.0


class Machine:
    """Starts servers that are only names, and notes which of them still run."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.begun: list[int] = []

    def start(self, place: int) -> Server:
        self.begun.append(place)
        self.running.add(place)
        return Server(f"http://server:{place}", ConnectionOptions(), release=lambda: self.running.discard(place))


def test_as_many_as_allowed_start_at_the_same_time() -> None:
    meeting = threading.Barrier(STARTS_AT_ONCE)
    machine = Machine()

    def start(place: int) -> Server:
        meeting.wait(SECONDS)  # breaks unless all of them are here
        return machine.start(place)

    started, failed = Lot(start, range(2 * STARTS_AT_ONCE)).start()
    assert sorted(started) == list(range(2 * STARTS_AT_ONCE))
    assert failed == {}


def test_after_a_failure_no_other_is_begun_and_those_that_started_are_told() -> None:
    machine = Machine()
    all_begun = threading.Barrier(STARTS_AT_ONCE)
    has_failed = threading.Event()

    def start(place: int) -> Server:
        all_begun.wait(SECONDS)
        if place == 3:
            has_failed.set()
            raise errors.ServerStartError("no", exit_code=9)
        assert has_failed.wait(SECONDS)
        return machine.start(place)

    lot = Lot(start, range(STARTS_AT_ONCE + 4))
    started, failed = lot.start()
    assert set(started) | set(failed) == set(range(STARTS_AT_ONCE + 4))
    assert 3 in failed
    assert set(started) == machine.running, "what is running is told, so that somebody can end it"
    assert {type(error) for error in failed.values()} == {errors.ServerStartError}
    assert len({id(error) for error in failed.values()}) == len(failed), "each its own: they will name their lanes"


def test_a_mistake_of_ours_is_raised_and_leaves_nothing_running() -> None:
    machine = Machine()

    def start(place: int) -> Server:
        if place == 1:
            raise ZeroDivisionError
        return machine.start(place)

    with pytest.raises(ZeroDivisionError):
        Lot(start, range(3)).start()
    assert machine.running == set()


def test_an_interrupt_ends_what_is_on_its_way_when_it_arrives() -> None:
    machine = Machine()
    may_go_on = threading.Event()

    def start(place: int) -> Server:
        if place == 0:
            _thread.interrupt_main()
        assert may_go_on.wait(SECONDS)
        return machine.start(place)

    with pytest.raises(KeyboardInterrupt):
        Lot(start, range(3)).start()
    may_go_on.set()
    threads = [thread for thread in threading.enumerate() if thread.name == "openenv-gym start"]
    for thread in threads:
        thread.join(SECONDS)
    assert machine.begun != []
    assert machine.running == set()
