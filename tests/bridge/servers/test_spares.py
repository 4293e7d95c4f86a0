"""Spares start in the background, are handed out once, and end with their owner whatever the order of events."""

from __future__ import annotations

import logging
import os
import threading

import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.servers.server import Server
from openenv_gym.bridge.servers.spares import Spares
from openenv_gym.transports.base import ConnectionOptions
from tests.support.pools import eventually

SECONDS = 30.0


class Starts:
    """Starts servers that are only names, when it is allowed to."""

    def __init__(self) -> None:
        self.allowed = threading.Event()
        self.names: list[str] = []
        self.running: set[str] = set()
        self.error: errors.OpenEnvGymError | None = None

    def start(self, name: str) -> Server:
        self.names.append(name)
        assert self.allowed.wait(SECONDS)
        if self.error is not None:
            raise self.error
        self.running.add(name)
        return Server("http://spare:1", ConnectionOptions(), release=lambda: self.running.discard(name))


def test_a_spare_is_handed_out_once_and_another_takes_its_place() -> None:
    starts = Starts()
    starts.allowed.set()
    spares = Spares(1, starts.start)
    assert spares.take() is None, "there is none before they are asked for"
    spares.fill()
    spares.fill()
    assert eventually(lambda: len(starts.running) == 1)
    taken = spares.take()
    assert taken is not None
    assert spares.take() is None
    spares.fill()
    assert eventually(lambda: len(starts.running) == 2)
    spares.release()
    assert starts.running == {taken.name}, "what was handed out is the taker's"
    taken.drop()
    assert starts.running == set()
    assert len(set(starts.names)) == 2


def test_one_that_answers_goes_before_one_that_is_on_its_way() -> None:
    starts = Starts()
    starts.allowed.set()
    spares = Spares(2, starts.start)
    spares.fill()
    assert eventually(lambda: len(starts.running) == 2)
    first = spares.take()
    starts.allowed.clear()
    spares.fill()
    second, third = spares.take(), spares.take()
    assert first is not None
    assert second is not None
    assert third is not None
    assert [each.is_ready for each in (first, second, third)] == [True, True, False]
    starts.allowed.set()
    for each in (first, second, third):
        each.drop()
    assert eventually(lambda: len(starts.names) == 3 and not starts.running)


def test_one_that_is_still_being_started_ends_when_it_arrives() -> None:
    starts = Starts()
    spares = Spares(1, starts.start)
    spares.fill()
    assert eventually(lambda: starts.names)
    spares.release()
    starts.allowed.set()
    assert eventually(lambda: not starts.running and not _threads_of_spares())


def test_one_that_fails_is_logged_and_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    starts = Starts()
    starts.allowed.set()
    starts.error = errors.ServerStartError("no room")
    spares = Spares(1, starts.start)
    with caplog.at_level(logging.WARNING, "openenv_gym"):
        spares.fill()
        assert eventually(lambda: "no room" in caplog.text)
    assert eventually(lambda: not _threads_of_spares())
    assert spares.take() is None
    starts.error = None
    spares.fill()
    assert eventually(lambda: len(starts.running) == 1)
    spares.release()


def test_a_forked_child_leaves_the_spares_to_its_parent() -> None:
    starts = Starts()
    starts.allowed.set()
    spares = Spares(1, starts.start)
    spares.fill()
    assert eventually(lambda: starts.running and not _threads_of_spares())
    child = os.fork()
    if child == 0:
        os._exit(0 if spares.take() is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    spare = spares.take()
    assert spare is not None
    spare.drop()


def _threads_of_spares() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "openenv-gym spare"]
