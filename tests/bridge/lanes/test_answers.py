"""Answers wait until enough of them are there, and nobody waits longer than they wanted to."""

from __future__ import annotations

import _thread
import threading

import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.lanes.answers import Answer, Inbox
from tests.support.moments import happening_after


def answer(*lanes: int) -> Answer:
    return Answer(None, "step", lanes)


def test_what_is_there_is_not_waited_for() -> None:
    inbox = Inbox()
    inbox.put(answer(0, 1))
    assert inbox.wait(2, timeout=0)
    assert [each.lanes for each in inbox.take()] == [(0, 1)]
    assert inbox.take() == []
    assert not inbox.wait(1, timeout=0), "what was taken does not count"


def test_failed_lanes_count_as_those_that_succeeded() -> None:
    inbox = Inbox()
    inbox.put(Answer(None, "step", (0,), errors={1: errors.SessionLost("gone")}))
    assert inbox.wait(2, timeout=0)


def test_a_waiter_wakes_when_there_is_enough() -> None:
    inbox = Inbox()
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(inbox.wait(3, timeout=20)))
    waiting.start()
    inbox.put(answer(0))
    inbox.put(answer(1, 2))
    waiting.join(20)
    assert found == [True]


def test_a_wait_in_vain_leaves_nothing_behind() -> None:
    inbox = Inbox()
    assert not inbox.wait(1, timeout=0.01)
    inbox.put(answer(0))
    assert inbox.wait(1, timeout=0)
    inbox.take()
    assert not inbox.wait(1, timeout=0.01), "an answer that came between two waits wakes nobody later"


def test_a_signal_that_comes_just_before_the_wait_ends_it() -> None:
    # It is noted as a signal is, but wakes no lock: so does one that comes between Python's last look and the wait.
    with pytest.raises(KeyboardInterrupt), happening_after(0.5, _thread.interrupt_main):
        Inbox().wait(1)
