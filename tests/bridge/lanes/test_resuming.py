"""Whatever the network does, every step is carried out once and told of truly, or the session is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.broken_network import FAULTS, BrokenNetwork, broken_network
from tests.support.repetitions import noted_repetitions
from tests.support.scripted_server import scripted_server
from tests.support.servers import RunningServer, running_server
from tests.support.vector_client import SECONDS, server_faults, vector_socket
from tests.support.vector_peer import HTTP, Peer, scripted

RECORDED = "tests.support.apps.recorded:app"
EPISODES = int(os.environ.get("OPENENV_GYM_BROKEN_EPISODES", "1000"))
"""Played through a network that breaks; a soak asks for more."""

LANES = 8


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with running_server(RECORDED) as server:
        yield server
        assert server_faults(server) == []


def executed(server: RunningServer) -> list[int]:
    """The numbers of all steps that a server carried out, asked on a connection of its own."""
    with vector_socket(server.ws_url) as socket:
        lanes = socket.open(1)
        values: list[dict[str, Any]] = socket.ask(frames.State, lanes=lanes).values
        return list(values[0]["executed"])


def until_executed(server: RunningServer, number: int) -> None:
    """Waits until a server has begun a step."""
    give_up = time.monotonic() + SECONDS
    while number not in executed(server):
        assert time.monotonic() < give_up


def actions(*numbers: int, seconds: float = 0.0) -> dict[str, Any]:
    """Actions of as many lanes."""
    return {"number": np.array(numbers), "seconds": np.full(len(numbers), seconds, np.float32)}


class Player:
    """Plays episodes, and knows of each step what must be true of it."""

    def __init__(self, base_url: str, *, is_plain: bool = False) -> None:
        self._is_plain = is_plain
        self.env = RemoteVectorEnv(base_url, num_envs=LANES, autoreset_mode="Disabled", timeouts={"step": 30.0})
        self.told: list[int] = []
        self.lost = 0
        self.episodes = 0
        self._number = 0
        self._counts = np.zeros(LANES, np.int64)
        self._lengths = np.zeros(LANES, np.int64)
        self._random = np.random.default_rng(7)

    def play(self, episodes: int) -> None:
        self._reset(np.ones(LANES, np.bool_))
        while self.episodes < episodes:
            self._step()

    def _reset(self, mask: Any) -> None:
        while True:
            seeds = [int(seed) for seed in self._random.integers(0, 1000, LANES)]
            if self._is_plain:  # long episodes, whose steps are alike
                seeds = [15 * seed + 14 for seed in seeds]
            try:
                self.env.reset(seed=seeds, options={"reset_mask": mask})
            except (errors.SessionLost, errors.ConnectionLost):
                self.lost += 1
                mask = np.ones(LANES, np.bool_)
            else:
                break
        self._counts[mask] = 0
        self._lengths[mask] = 1 + np.array(seeds)[mask] % 15

    def _step(self) -> None:
        numbers = np.arange(self._number, self._number + LANES)
        self._number += LANES
        try:
            given = numbers if self._is_plain else actions(*numbers)
            observation, _, terminated, truncated, _ = self.env.step(given)
        except (errors.SessionLost, errors.ConnectionLost):
            self.lost += 1
            self._reset(np.ones(LANES, np.bool_))
            return
        self._counts += 1
        assert observation["number"].ravel().tolist() == numbers.tolist()
        assert observation["count"].ravel().tolist() == self._counts.tolist()
        assert not truncated.any()
        assert terminated.tolist() == (self._counts == self._lengths).tolist()
        self.told += numbers.tolist()
        if terminated.any():
            self.episodes += int(terminated.sum())
            self._reset(terminated)


@pytest.mark.timeout(3600)
def test_every_step_is_carried_out_once_or_the_session_is_lost(server: RunningServer) -> None:
    play_through_faults(server)


@pytest.mark.timeout(3600)
def test_every_step_that_is_like_the_one_before_is_carried_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = noted_repetitions(monkeypatch)
    with running_server("tests.support.apps.recorded:plain") as server:
        play_through_faults(server, is_plain=True)
        assert server_faults(server) == []
    assert len(answered) > EPISODES


def play_through_faults(server: RunningServer, *, is_plain: bool = False) -> None:
    with broken_network(server.base_url, seed=3) as network:
        player = Player(network.base_url, is_plain=is_plain)
        try:
            player.env.reset()
            network.mean_bytes = 3_000
            # Twice as many of the plain ones: a slow machine answers some too late for a known form.
            player.play(2 * EPISODES if is_plain else EPISODES)
        finally:
            network.mean_bytes = 0
            player.env.close()
        done = executed(server)
        assert player.lost == 0, "each of these faults can be mended"
        assert len(set(done)) == len(done), "a step was carried out twice"
        assert set(player.told) <= set(done), "a step was told of that never happened"
        assert len(network.faults) == len(FAULTS)
        assert sum(network.faults.values()) > EPISODES / 5


@pytest.fixture
def network(server: RunningServer) -> Iterator[BrokenNetwork]:
    with broken_network(server.base_url) as network:
        yield network


@pytest.fixture
def env(network: BrokenNetwork) -> Iterator[RemoteVectorEnv]:
    env = RemoteVectorEnv(network.base_url, num_envs=2)
    env.reset(seed=[14, 14])
    yield env
    env.close()


@pytest.mark.parametrize("how", ["cut", "cut_client_sides"])
def test_a_step_that_was_under_way_returns_as_if_nothing_had_happened(
    how: str, env: RemoteVectorEnv, network: BrokenNetwork, server: RunningServer
) -> None:
    sessions = env.call("session_id")
    env.send(actions(1, 2, seconds=0.3))
    until_executed(server, 2)
    assert getattr(network, how)() == 1
    _, observation, *_ = env.recv(2)
    assert observation["number"].ravel().tolist() == [1, 2]
    assert env.step(actions(3, 4))[0]["count"].ravel().tolist() == [2, 2]
    assert env.call("session_id") == sessions
    assert sorted(executed(server)) == [1, 2, 3, 4]


def test_a_connection_that_broke_between_two_steps_is_not_noticed(
    env: RemoteVectorEnv, network: BrokenNetwork, server: RunningServer
) -> None:
    for number in range(5):
        network.cut()
        assert env.step(actions(number, number + 100))[0]["count"].ravel().tolist() == [number + 1] * 2
    assert len(executed(server)) == 10


def test_a_single_environment_is_resumed_too(network: BrokenNetwork, server: RunningServer) -> None:
    env = RemoteEnv(network.base_url)
    env.reset(seed=14)
    for number in range(3):
        network.cut()
        assert env.step({"number": number, "seconds": 0.0})[0]["count"] == number + 1
    env.close()
    assert executed(server) == [0, 1, 2]


def test_a_server_that_was_started_anew_has_lost_the_lanes(env: RemoteVectorEnv, network: BrokenNetwork) -> None:
    with running_server(RECORDED) as another:
        network.lead_to(another.base_url)
        network.cut()
        with pytest.raises(errors.ConnectionLost, match="could not be resumed"):
            env.step(actions(1, 2))
        with pytest.raises(errors.SessionLost):
            env.step(actions(3, 4))
        assert executed(another) == []
        env.reset()
        env.step(actions(5, 6))
        assert sorted(executed(another)) == [5, 6]


def test_a_server_that_died_is_not_waited_for() -> None:
    with running_server(RECORDED) as dying:
        env = RemoteVectorEnv(dying.base_url, num_envs=2)
        env.reset()
        os.kill(dying.pid, signal.SIGKILL)
        with pytest.raises(errors.ConnectionLost, match="no server listens"):
            env.step(actions(1, 2))
        env.close()


def test_lanes_are_lost_once_nobody_got_through_for_their_linger() -> None:
    with (
        running_server(RECORDED, env={"OPENENV_GYM_LINGER": "0.4"}) as server,
        broken_network(server.base_url) as network,
    ):
        env = RemoteVectorEnv(network.base_url, num_envs=2)
        env.reset()
        network.is_down = True
        network.cut()
        with pytest.raises(errors.ConnectionLost, match="could not be resumed"):
            env.step(actions(1, 2))
        network.is_down = False
        with pytest.raises(errors.SessionLost):
            env.step(actions(1, 2))
        env.reset()
        env.close()
        assert executed(server) == []


def test_a_calls_time_runs_on_while_there_is_no_connection(network: BrokenNetwork, server: RunningServer) -> None:
    env = RemoteVectorEnv(network.base_url, num_envs=2, timeouts={"step": 2.0})
    env.reset()
    network.is_down = True
    network.cut()
    with pytest.raises(errors.ConnectionLost, match=r"No reply to step\(\) within 2 s"):
        env.step(actions(1, 2))
    network.is_down = False
    env.reset(seed=[14, 14])
    assert env.step(actions(3, 4))[0]["count"].ravel().tolist() == [1, 1]
    env.close()
    assert {3, 4} <= set(executed(server))


def test_a_reset_does_not_wait_for_a_connection_that_may_never_come_back(network: BrokenNetwork) -> None:
    with running_server(RECORDED, env={"MAX_CONCURRENT_ENVS": "2"}) as small:
        network.lead_to(small.base_url)
        env = RemoteVectorEnv(network.base_url, num_envs=2, timeouts={"step": 2.0})
        env.reset()
        network.is_down = True
        network.cut()
        with pytest.raises(errors.ConnectionLost):
            env.step(actions(1, 2))
        with pytest.raises(errors.ConnectError):
            env.reset()
        network.is_down = False
        env.reset()  # the lanes that were given up are closed on their own way back, which frees their slots
        env.step(actions(3, 4))
        env.close()


def test_an_environment_that_is_closed_leaves_no_lanes_behind() -> None:
    with running_server(RECORDED, env={"MAX_CONCURRENT_ENVS": "2"}) as server:
        for _ in range(3):
            env = RemoteVectorEnv(server.base_url, num_envs=2)
            env.reset()
            env.close()


TRAINER = """
import sys
from openenv_gym.bridge.vector import RemoteVectorEnv
env = RemoteVectorEnv(sys.argv[1], num_envs=2)
env.reset()
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_lanes_of_a_killed_trainer_end_after_their_linger() -> None:
    settings = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_LINGER": "0.5"}
    with running_server(RECORDED, env=settings) as server:
        command = [sys.executable, "-c", TRAINER, server.base_url]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trainer:
            assert trainer.stdout is not None
            assert trainer.stdout.readline() == "ready\n"
            trainer.kill()
        env = RemoteVectorEnv(server.base_url, num_envs=2)
        env.reset()
        env.close()
        assert "they linger for 0.5 s" in server.log()


@pytest.mark.parametrize(("code", "tries"), [(1000, False), (1001, False), (1012, False), (1011, True), (None, True)])
def test_a_server_that_says_that_it_ends_is_not_asked_again(code: int | None, *, tries: bool) -> None:
    async def script(peer: Peer) -> None:
        hello = await peer.receive()
        if isinstance(hello, frames.Resume):
            resumed.append(hello)
            return
        assert isinstance(hello, frames.Hello)
        assert hello.resume
        welcome = frames.Welcome(
            id=hello.id,
            server="peer",
            max_frame_bytes=10**6,
            max_lanes=9,
            max_depth=64,
            dtypes=[],
            link="l",
            linger=0.3,
        )
        await peer.send(welcome)
        request = await peer.receive()
        assert isinstance(request, frames.Open)
        await peer.opened(request)
        await peer.rows(await peer.receive(), {0: 0, 1: 0})
        await peer.receive()
        if code is None:
            peer.session.die()
        else:
            await peer.session.socket.close(code)

    resumed: list[frames.Resume] = []
    with scripted_server(scripted(script), http=HTTP, subprotocols=[SUBPROTOCOL]) as server:
        env = RemoteVectorEnv(server.base_url, num_envs=2)
        env.reset()
        with pytest.raises(errors.ConnectionLost) as raised:
            env.step([1, 1])
        env.close()
        assert bool(resumed) == tries
        assert ("could not be resumed" in raised.value.message) == tries
        assert [(one.link, one.ack) for one in resumed[:1]] == ([("l", 2)] if tries else [])
