"""Both wires give the same, lane by lane, and a mixture of servers too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector.frames import SUBPROTOCOL

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.scripted_server import Session, scripted_server
from tests.support.servers import RunningServer, running_server

SCHEMA = {
    "action": {"type": "object", "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 9}}},
    "observation": {"type": "object", "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 9}}},
    "state": {"type": "object"},
}

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture
def make() -> Iterator[Make]:
    with ExitStack() as stack:

        def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
            env = RemoteVectorEnv(*args, **kwargs)
            stack.callback(env.close)
            return env

        yield make


def same(first: Any, second: Any) -> bool:
    return bool(data_equivalence(first, second, exact=True))


def wires_of(env: RemoteVectorEnv) -> set[str]:
    """The wires that the lanes speak, by the names of their sessions: those of one link share theirs."""
    sessions = env.get_attr("session_id")
    return {"vector" if "/" in session else "standard" for session in sessions}


async def answers(session: Session) -> None:
    """A stock server's session: a counter that ends at 3, and selects no subprotocol."""
    value = 0
    while True:
        message = await session.receive()
        if message["type"] == "close":
            return
        value = 0 if message["type"] == "reset" else value + 1
        await session.observe(value, reward=float(value), done=value == 3)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["walk", "stream"])
@pytest.mark.parametrize("count", [1, 5])
def test_the_vector_wire_gives_lane_by_lane_what_gymnasiums_own_vector_gives(
    kind: str, mode: AutoresetMode, count: int, request: Any, make: Make
) -> None:
    server: RunningServer = request.getfixturevalue(kind)
    remote = make(server.base_url, num_envs=count, autoreset_mode=mode, wire="vector")
    local = SyncVectorEnv([lambda: RemoteEnv(server.base_url, wire="vector")] * count, autoreset_mode=mode)
    standard = make(server.base_url, num_envs=count, autoreset_mode=mode, wire="standard")
    try:
        finished = _run_alike([remote, standard, local], mode, steps=30)
        assert finished > count
        assert wires_of(remote) == {"vector"}
        assert wires_of(standard) == {"standard"}
        assert remote.np_random_seed == local.np_random_seed == standard.np_random_seed
    finally:
        local.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_mixture_of_servers_is_one_vector(mode: AutoresetMode, make: Make) -> None:
    with (
        scripted_server(answers, http={"/schema": (200, SCHEMA)}) as stock,
        running_server("tests.support.apps.bridge_counters:app") as ours,
    ):
        mixed = make([ours.base_url, stock.base_url], num_envs=4, autoreset_mode=mode)
        local = SyncVectorEnv([lambda: RemoteEnv(stock.base_url)] * 4, autoreset_mode=mode)
        try:
            finished = _run_alike([mixed, local], mode, steps=12)
            assert finished > 4
            assert wires_of(mixed) == {"vector", "standard"}
        finally:
            local.close()


def test_a_server_that_selects_nothing_is_spoken_to_on_the_same_socket(make: Make) -> None:
    with scripted_server(answers, http={"/schema": (200, SCHEMA)}) as stock:
        env = make(stock.base_url, num_envs=3)
        env.reset()
        env.step([1, 1, 1])
        offers = [request.headers.get("Sec-WebSocket-Protocol") for request in stock.requests if "/ws" in request.path]
        assert sorted(offer or "" for offer in offers) == ["", "", SUBPROTOCOL]
        assert stock.sessions == 3
        env.close()
        closed = [number for number, message in stock.all_received() if message["type"] == "close"]
        assert sorted(closed) == [0, 1, 2]


@pytest.mark.parametrize("kind", [RemoteEnv, RemoteVectorEnv])
def test_a_wire_can_be_insisted_on(kind: Any, walk: RunningServer) -> None:
    with scripted_server(answers, http={"/schema": (200, SCHEMA)}) as stock:
        insisting = kind(stock.base_url, wire="vector")
        with pytest.raises(errors.ConnectError, match="vector wire"):
            insisting.reset()
        insisting.close()
    with pytest.raises(errors.ConfigurationError, match="wire"):
        kind(walk.base_url, wire="morse")


def test_all_lanes_of_a_server_share_one_connection(walk: RunningServer, make: Make) -> None:
    env = make(walk.base_url, num_envs=16)
    env.reset(seed=1)
    assert len({session.partition("/")[0] for session in env.get_attr("session_id")}) == 1


@pytest.mark.parametrize("wire", ["standard", "vector"])
def test_an_unseeded_reset_after_steps_draws_as_gymnasiums_own_does(
    wire: Wire, walk: RunningServer, make: Make
) -> None:
    """In SAME_STEP the next seed is sent ahead: an explicit reset in between must not draw another."""
    remote = make(walk.base_url, num_envs=2, autoreset_mode="SameStep", wire=wire)
    local = SyncVectorEnv([lambda: RemoteEnv(walk.base_url)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    try:
        for env in (remote, local):
            env.reset(seed=3)
            env.step(np.array([0, 1]))
        assert same(remote.reset(), local.reset())
        mask = np.array([True, False])
        assert same(remote.reset(options={"reset_mask": mask}), local.reset(options={"reset_mask": mask.copy()}))
        for _ in range(10):
            assert same(remote.step(np.array([1, 0])), local.step(np.array([1, 0])))
    finally:
        local.close()


def test_reset_options_reach_every_reset_on_the_vector_wire(walk: RunningServer, make: Make) -> None:
    env = make(walk.base_url, num_envs=1, wire="vector", reset_options={"limit": 2})
    env.reset(seed=1, options={"limit": 1})
    assert env.step([0])[3].tolist() == [True], "the option of this once"
    env.step([0])
    lengths = 0
    while not env.step([0])[3][0]:
        lengths += 1
    assert lengths <= 1, "the option of every reset, autoresets too"


def _run_alike(envs: list[Any], mode: AutoresetMode, steps: int) -> int:
    """Runs environments with the same seeds and actions, and checks that each result is the same."""
    first, *others = envs
    expected = first.reset(seed=20)
    assert all(same(expected, env.reset(seed=20)) for env in others)
    first.action_space.seed(1)
    finished = 0
    over = np.zeros(first.num_envs, np.bool_)
    for _ in range(steps):
        if mode is AutoresetMode.DISABLED and over.any():
            expected = first.reset(options={"reset_mask": over.copy()})
            for env in others:
                assert same(expected, env.reset(options={"reset_mask": over.copy()}))
        actions = first.action_space.sample()
        expected = first.step(actions)
        for env in others:
            found = env.step(actions)
            assert same(expected, found), (expected, found)
        over = expected[2] | expected[3]
        finished += int(over.sum())
    expected = first.reset()
    assert all(same(expected, env.reset()) for env in others)
    return finished


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_environment_that_steps_its_lanes_itself_is_a_vector_as_any_other(mode: AutoresetMode, make: Make) -> None:
    with running_server("tests.support.apps.vectors:cart_poles") as server:
        env = make(server.base_url, num_envs=3, autoreset_mode=mode)
        local = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3, autoreset_mode=mode)
        try:
            assert same(env.reset(seed=7)[0], local.reset(seed=7)[0])
            env.action_space.seed(2)
            finished = 0
            for _ in range(60):
                actions = env.action_space.sample()
                ours, theirs = env.step(actions), local.step(actions)
                assert same(ours[:4], theirs[:4])
                over = theirs[2] | theirs[3]
                finished += int(over.sum())
                if mode is AutoresetMode.SAME_STEP:
                    for lane in np.flatnonzero(over):
                        assert same(ours[4]["final_obs"][lane], theirs[4]["final_obs"][lane])
            assert finished > 3
        finally:
            local.close()
