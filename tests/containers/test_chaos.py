"""Containers that are killed, paused, starved and restarted in the middle of a rollout.

Whatever happens: no lane gets what is another's, nothing is invented but in rows that say so, every failure has its
class, the other lanes' steps are answered in time, and nothing is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import docker
import numpy as np
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.support.chaotic import build_chaotic_image
from tests.support.containers import of_this_pool
from tests.support.engine import Engine
from tests.support.pools import eventually
from tests.support.project_images import Images

pytestmark = [pytest.mark.containers, pytest.mark.timeout(300)]

LANES, PER_SERVER = 8, 2
STEP_SECONDS = 2.0
SLACK_SECONDS = 20.0
MOST_SECONDS = 70.0
"""What a step may take that first starts containers for lanes that lost theirs."""

EAT_MEMORY, FILL_DISK = 1, 2

Make: TypeAlias = Callable[..., RemoteVectorEnv]


class Rollout:
    """Steps lanes and checks every row that comes.

    Args:
        env: The lanes.
    """

    def __init__(self, env: RemoteVectorEnv) -> None:
        self.env = env
        self.classes: list[set[str]] = [set() for _ in range(LANES)]
        self._number = 0
        self._seen: dict[str, Any] = {}
        self._over = np.zeros(LANES, bool)

    def begin(self) -> None:
        """Resets all lanes."""
        self._seen, infos = self.env.reset(seed=1)
        self._over[:] = False
        assert "failure" not in infos
        self._check_sessions()

    def step(self, harm: int = 0, lane: int = 0) -> set[int]:
        """Takes a step, in which one lane may do harm.

        Returns:
            The lanes that failed.
        """
        self._number += 1
        orders = np.zeros(LANES, np.int64)
        orders[lane] = harm
        before, begun = self._seen, time.monotonic()
        most = MOST_SECONDS if self._over.any() else STEP_SECONDS + SLACK_SECONDS
        actions = {"lane": np.arange(LANES), "number": np.full(LANES, self._number), "do": orders}
        keys = self.env.single_action_space.spaces  # type: ignore[attr-defined]
        actions = {name: actions[name].reshape(LANES, *keys[name].shape) for name in keys}
        self._seen, rewards, terminations, truncations, infos = self.env.step(actions)
        assert time.monotonic() - begun < most
        assert not terminations.any()
        failed = infos.get("failure", [None] * LANES)
        for each in range(LANES):
            row = self._row(self._seen, each)
            if failed[each] is not None:
                self.classes[each].add(failed[each])
                assert (row, rewards[each], truncations[each]) == (self._row(before, each), 0.0, True)
            elif self._over[each]:
                assert row[:3] == (-1, -1, 0), "a new episode"
                assert (rewards[each], truncations[each]) == (0.0, False)
            else:
                last = self._row(before, each)
                assert row == (each, self._number, last[2] + 1, last[3])
                assert (rewards[each], truncations[each]) == (float(self._number), False)
        self._over = truncations
        self._check_sessions()
        return {each for each in range(LANES) if failed[each] is not None}

    def until_all_play(self, *, within: int = 6) -> None:
        """Steps until a step of every lane is an ordinary one."""
        for _ in range(within):
            over = self._over.any()
            if not self.step() and not over:
                return
        raise AssertionError(f"not all lanes play after {within} steps: {self.classes}")

    def forget(self) -> None:
        """Forgets the failures so far."""
        self.classes = [set() for _ in range(LANES)]

    def _row(self, seen: dict[str, Any], lane: int) -> tuple[int, ...]:
        return tuple(int(np.squeeze(seen[name][lane])) for name in ("lane", "number", "count", "session"))

    def _check_sessions(self) -> None:
        sessions = {self._row(self._seen, lane)[3] for lane in range(LANES)}
        assert len(sessions) == LANES, "no two lanes share a session"


class Faults:
    """What happens to the container of lanes 0 and 1.

    Args:
        client: A client of its engine.
        env: The lanes.
    """

    def __init__(self, client: docker.DockerClient, env: RemoteVectorEnv) -> None:
        self._client = client
        self._env = env
        self._paused: list[Any] = []

    def container(self) -> Any:
        """The container that serves lane 0."""
        port = str(self._env.servers[0]).rpartition(":")[2]
        for container in self._client.containers.list(ignore_removed=True):
            published = container.attrs["NetworkSettings"]["Ports"].get("8000/tcp") or []
            if any(each["HostPort"] == port for each in published):
                return container
        raise AssertionError(f"no container is published at {port}")

    def kill(self) -> None:
        self.container().kill()

    def restart(self) -> None:
        # It has ended, and is removed: the engine may find it gone before it starts it again.
        container = self.container()
        try:
            container.restart(timeout=0)
        except docker.errors.APIError as error:
            if error.status_code not in (404, 409, 500):
                raise

    def pause(self) -> None:
        container = self.container()
        container.pause()
        self._paused.append(container)

    def unpause(self) -> None:
        """Lets what is paused go on, where it is still there."""
        while self._paused:
            try:
                self._paused.pop().unpause()
            except docker.errors.APIError as error:
                if error.status_code not in (404, 409):
                    raise


@pytest.fixture(scope="module")
def image(client: docker.DockerClient, images: Images) -> str:
    return build_chaotic_image(client, images.bundled("blackjack").tag)


@pytest.fixture
def make(image: str) -> Iterator[Make]:
    made: list[RemoteVectorEnv] = []

    def rollout(on_failure: str, **options: Any) -> RemoteVectorEnv:
        env = RemoteVectorEnv(
            image=image,
            num_envs=LANES,
            sessions_per_server=PER_SERVER,
            on_failure=on_failure,
            provider={"pull": "never", "memory": "192m", "linger": 0, **options},
            timeouts={"start": 60.0, "connect": 2.0, "step": STEP_SECONDS, "reset": 10.0},
        )
        made.append(env)
        return env

    yield rollout
    for env in made:
        env.close()


@dataclass(frozen=True)
class Fault:
    """What happens, and what comes of it.

    Attributes:
        do: What happens before a step.
        harm: What lane 0's environment does in the step.
        failure: The failure class.
        lanes: Those that fail.
    """

    do: Callable[[Faults], None] = lambda _: None
    harm: int = 0
    failure: str = "infrastructure"
    lanes: frozenset[int] = frozenset({0, 1})


FAULTS = {
    "killed": Fault(Faults.kill),
    "restarted": Fault(Faults.restart),
    "out of memory": Fault(harm=EAT_MEMORY),
    "paused": Fault(Faults.pause, failure="timeout"),
    "disk full": Fault(harm=FILL_DISK, failure="environment", lanes=frozenset({0})),
}
"""The last one parts lane 0 from lane 1, where it is replaced."""


def test_each_fault_is_raised_with_its_class_and_reset_goes_on(
    engine: Engine, client: docker.DockerClient, make: Make
) -> None:
    env = make("raise")
    rollout, faults = Rollout(env), Faults(client, env)
    for name, fault in FAULTS.items():
        rollout.begin()
        rollout.until_all_play()
        fault.do(faults)
        with pytest.raises(errors.OpenEnvGymError) as caught:
            rollout.step(fault.harm)
        assert (name, str(caught.value.failure)) == (name, fault.failure)
        assert caught.value.lane in fault.lanes
        faults.unpause()
    rollout.begin()
    rollout.until_all_play()
    check_nothing_is_left(engine, env)


@pytest.mark.parametrize("on_failure", ["truncate", "replace"])
def test_each_fault_truncates_the_lanes_that_it_hits_and_they_go_on(
    on_failure: str, engine: Engine, client: docker.DockerClient, make: Make
) -> None:
    env = make(on_failure, spares=1 if on_failure == "replace" else 0)
    rollout, faults = Rollout(env), Faults(client, env)
    rollout.begin()
    rollout.until_all_play()
    for name, fault in FAULTS.items():
        others = env.servers[PER_SERVER:]
        before = env.servers[0]
        fault.do(faults)
        failed = rollout.step(fault.harm)
        assert 0 in failed, name
        if on_failure == "truncate":
            faults.unpause()
        rollout.until_all_play()
        assert rollout.classes[0] == {fault.failure}, name
        for lane in range(1, LANES):
            # Lane 1 may have been answered before lane 0 ended their container: then it fails in the next step.
            assert rollout.classes[lane] == ({fault.failure} if lane in fault.lanes else set()), (name, lane)
        assert env.servers[PER_SERVER:] == others, "the other lanes stay where they are"
        if on_failure == "replace":
            assert env.servers[0] != before
        rollout.forget()
    check_nothing_is_left(engine, env)


def test_after_a_restart_of_the_engine_every_lane_fails_once_and_goes_on(
    engine: Engine, client: docker.DockerClient, make: Make
) -> None:
    if not engine.is_ours:
        pytest.skip("an engine of somebody else's is not restarted")
    env = make("truncate")
    rollout = Rollout(env)
    rollout.begin()
    rollout.until_all_play()
    engine.restart()
    assert rollout.step() == set(range(LANES))
    assert rollout.classes == [{"infrastructure"}] * LANES
    rollout.until_all_play()
    check_nothing_is_left(engine, env)


def check_nothing_is_left(engine: Engine, env: RemoteVectorEnv) -> None:
    """Closes the lanes; their containers end without anybody asking for that."""
    env.close()
    assert eventually(lambda: not list(of_this_pool(engine)), within=30)
