"""Lanes on servers of our own outlive their servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.lanes.answers import Inbox
from openenv_gym.bridge.rows import RowReader
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.pools import all_end, process_at
from tests.support.servers import RunningServer

BLACKJACK = Path(__file__).resolve().parents[3] / "envs" / "blackjack"


def test_a_server_of_ours_that_died_is_started_anew_by_reset(wire: Wire) -> None:
    env = RemoteEnv(path=BLACKJACK, wire=wire, provider={"linger": 0})
    try:
        env.reset(seed=1)
        server = process_at(env.server)
        server.kill()
        assert all_end([server])
        with pytest.raises(errors.InfrastructureFailure):
            env.step(0)
        with pytest.raises(errors.SessionLost) as raised:
            env.step(0)
        assert isinstance(raised.value.__cause__, errors.InfrastructureFailure)
        assert str(raised.value.__cause__) in raised.value.message, "why it is lost is told again"
        observation, info = env.reset(seed=1)
        assert observation in env.observation_space
        assert info["seed_applied"] == 1
        assert process_at(env.server).pid != server.pid
    finally:
        env.close()


def test_all_lanes_of_a_dead_server_move_to_one_new_server(wire: Wire) -> None:
    env = RemoteVectorEnv(path=BLACKJACK, wire=wire, num_envs=6, sessions_per_server=3, provider={"linger": 0})
    try:
        first, _ = env.reset(seed=1)
        assert len(set(env.servers)) == 2
        dead = process_at(env.servers[0])
        dead.kill()
        assert all_end([dead])
        with pytest.raises(errors.InfrastructureFailure) as raised:
            env.step(np.zeros(6, np.int64))
        assert raised.value.lane == 0
        second, _ = env.reset(seed=1)
        assert all(np.array_equal(before, after) for before, after in zip(first, second, strict=True))
        assert len(set(env.servers)) == 2
    finally:
        env.close()


def test_an_environment_that_was_never_used_is_forgotten_without_starting_a_thread() -> None:
    program = (
        "import gc, gymnasium, openenv_gym, threading\n"
        "envs = [gymnasium.make('openenv/Blackjack-v0'), gymnasium.make_vec('openenv/Blackjack-v0', num_envs=2)]\n"
        "envs.clear()\n"
        "gc.collect()\n"
        "print([thread.name for thread in threading.enumerate()])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "['MainThread']"
    assert run.stderr == ""


def test_a_session_whose_answer_an_interrupt_kept_from_being_taken_is_given_up(
    faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteEnv(faults.base_url, wire=wire)
    env.reset()
    fine = {"command": np.array([COMMANDS.index("fine")]), "value": np.array([0])}

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Inbox, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.state()
    monkeypatch.undo()
    with pytest.raises(errors.SessionLost):
        env.step(fine)
    env.reset()
    assert env.step(fine)[0].tolist() == [1.0], "the step's answer, not the state's"
    env.close()


@pytest.mark.parametrize(("owner", "name"), [(Inbox, "take"), (RowReader, "info")])
def test_a_step_that_an_interrupt_kept_from_being_reported_is_not_passed_over(
    owner: type, name: str, faults: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env = RemoteEnv(faults.base_url, wire=wire)
    env.reset()
    fine = {"command": np.array([COMMANDS.index("fine")]), "value": np.array([0])}

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(fine)
    monkeypatch.undo()
    with pytest.raises(errors.SessionLost):
        env.step(fine)
    env.reset()
    assert env.step(fine)[0].tolist() == [1.0]
    env.close()
