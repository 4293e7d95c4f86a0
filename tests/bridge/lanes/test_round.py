"""A batch is handed over once, and whoever stops waiting for it leaves nothing behind."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.lanes.answers import Inbox
from openenv_gym.bridge.observations import LastObservations
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.io_thread import io_thread
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.servers import RunningServer

pytestmark = pytest.mark.usefixtures("io_by")


def orders(*commands: str) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.zeros_like(numbers)}


@pytest.mark.parametrize("io_by", ["the event loop"], indirect=True)
def test_a_step_meets_the_event_loop_once(walk: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    env = RemoteVectorEnv(walk.base_url, num_envs=8, wire=wire)
    env.reset(seed=1)
    loop = io_thread().loop
    calls: list[Any] = []
    hand_over = loop.call_soon_threadsafe

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return hand_over(*args, **kwargs)

    def no_tasks(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a step made a task")

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    monkeypatch.setattr(loop, "create_task", no_tasks)
    env.step(np.ones(8, np.int64))
    monkeypatch.undo()
    assert len(calls) == 1
    env.close()


def test_an_interrupted_step_poisons_the_lanes_that_were_waited_for(
    faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteVectorEnv(faults.base_url, num_envs=2, wire=wire)
    env.reset()
    main = threading.main_thread().ident
    assert main is not None
    loop = io_thread().loop
    hand_over = loop.call_soon_threadsafe

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        handle = hand_over(*args, **kwargs)
        monkeypatch.undo()
        hand_over(signal.pthread_kill, main, signal.SIGINT)
        return handle

    monkeypatch.setattr(loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(orders("hang", "fine"))
    with pytest.raises(errors.SessionLost):
        env.step(orders("fine", "fine"))
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
    env.close()


def test_an_interrupt_while_receiving_loses_the_lanes_that_were_under_way(
    faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteVectorEnv(faults.base_url, num_envs=2, wire=wire)
    env.reset()
    env.send(orders("hang", "hang"))
    wait = Inbox.wait

    def interrupted(inbox: Inbox, count: int, timeout: float | None = None) -> bool:
        threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        return wait(inbox, count, timeout)

    monkeypatch.setattr(Inbox, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.recv()
    monkeypatch.undo()
    with pytest.raises(errors.SessionLost):
        env.send(orders("fine", "fine"))
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
    env.close()


@pytest.mark.parametrize("call", ["step", "step_wait", "recv"])
def test_steps_that_an_interrupt_kept_from_being_reported_are_not_passed_over(
    call: str, faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteVectorEnv(faults.base_url, num_envs=2, wire=wire)
    env.reset()
    if call == "recv":
        env.send(orders("fine", "fine"))
    elif call == "step_wait":
        env.step_async(orders("fine", "fine"))

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(LastObservations, "batch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(orders("fine", "fine")) if call == "step" else getattr(env, call)()
    monkeypatch.undo()
    with pytest.raises(errors.SessionLost):
        env.step(orders("fine", "fine"))
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
    env.close()


def test_an_interrupt_between_a_steps_two_halves_leaves_nothing_pending(
    faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteVectorEnv(faults.base_url, num_envs=2, wire=wire)
    env.reset()

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(env, "_end_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(orders("hang", "fine"))
    monkeypatch.undo()
    env.reset()
    assert env.step(orders("fine", "fine"))[0].tolist() == [[1.0], [1.0]]
    env.close()
