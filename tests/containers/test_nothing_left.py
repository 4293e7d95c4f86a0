"""Whatever is killed, no container of ours stays, and nobody else's goes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import psutil
import pytest
from docker.models.containers import Container

from openenv_gym.providers import pool
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.labels import CREATED_LABEL, POOL_LABEL, TTL_LABEL
from openenv_gym.providers.identity import start_time
from openenv_gym.providers.location import PoolLocation, pool_location
from openenv_gym.providers.watchdog_client import WatchdogClient, own_server
from tests.support.engine import Engine
from tests.support.engine_proxy import EngineProxy, engine_proxy
from tests.support.keeping import (
    PROGRAM,
    SERVE,
    STUBBORN,
    created,
    is_there,
    just_started,
    kept,
    kept_at_once,
    kept_by,
    labels_for,
    names_of,
)
from tests.support.pools import (
    RunningProgram,
    all_end,
    eventually,
    keepers_of,
    running_program,
    watchdog_of,
    watchdogs_of,
)

pytestmark = pytest.mark.containers

REPOSITORY = Path(__file__).parents[2]
MANY = 16


@contextmanager
def trainer(what: str, **environ: str) -> Iterator[tuple[RunningProgram, Path]]:
    """A trainer whose pool is its own, and its pool's directory."""
    with running_program(what, program=PROGRAM, PYTHONPATH=str(REPOSITORY), **environ) as program:
        yield program, Path(program.read()["directory"])


def dead_root() -> PoolLocation:
    """A pool whose root has ended."""
    pid = os.posix_spawn("/bin/true", ["true"], {})
    started = int(psutil.Process(pid).create_time())
    os.waitpid(pid, 0)
    return PoolLocation.of_root(pid, started)


@pytest.fixture
def others(client: docker.DockerClient) -> Iterator[list[Container]]:
    """Containers that are nobody's, another living pool's, and another user's whose root has ended."""
    started = start_time(os.getppid())
    assert started is not None
    living = PoolLocation.of_root(os.getppid(), started)
    dead = dead_root()
    foreign = PoolLocation(dead.parent, dead.uid + 1, dead.root_pid, dead.root_started, dead.place)
    elsewhere = PoolLocation(dead.parent, dead.uid, dead.root_pid, dead.root_started, "00000000")
    made = [
        created(client, labels, SERVE)
        for labels in (
            {},
            {"openenv-gym.server": "no pool"},
            labels_for("living", living),
            labels_for("foreign", foreign),
            labels_for("elsewhere", elsewhere),
        )
    ]
    for each in made:
        each.start()
    yield made
    for each in made:
        each.remove(force=True)


def running(containers: list[Container]) -> list[bool]:
    for each in containers:
        each.reload()
    return [each.status == "running" for each in containers]


@pytest.mark.timeout(180)
def test_a_kill_of_a_trainer_with_sixteen_containers_removes_all_of_them_and_nothing_else(
    client: docker.DockerClient, others: list[Container]
) -> None:
    with trainer(str(MANY)) as (program, directory):
        assert len(names_of(client, directory)) == MANY
        program.kill()
        assert eventually(lambda: not names_of(client, directory), within=20.0)
        assert eventually(lambda: not directory.exists())
    assert running(others) == [True] * len(others)


@pytest.mark.usefixtures("server_image")
def test_a_kill_of_a_trainer_ends_what_it_has_leased(client: docker.DockerClient) -> None:
    with trainer("leasing") as (program, directory):
        assert len(names_of(client, directory)) == 2
        program.kill()
        assert eventually(lambda: not names_of(client, directory), within=20.0)
        assert eventually(lambda: not directory.exists())


def test_a_kill_of_trainer_watchdog_and_guard_together_leaves_the_end_to_the_keeper(
    client: docker.DockerClient, others: list[Container]
) -> None:
    with trainer("3") as (program, directory):
        keepers = keepers_of(directory)
        assert len(keepers) == 1
        for dog in watchdogs_of(directory):
            dog.kill()
        program.kill()
        assert eventually(lambda: not names_of(client, directory), within=20.0)
        assert all_end(keepers)
    assert running(others) == [True] * len(others)


def test_what_a_machine_crash_left_is_removed_by_the_next_pool(
    client: docker.DockerClient, others: list[Container]
) -> None:
    with trainer("2") as (program, directory):
        network = client.networks.create("left-over", labels=labels_for("left-over", PoolLocation.parse(directory)))
        for each in (*keepers_of(directory), *watchdogs_of(directory)):
            each.suspend()
        for each in (*keepers_of(directory), *watchdogs_of(directory)):
            each.kill()
        program.kill()
        assert len(names_of(client, directory)) == 2
    owner, _ = kept(client)
    assert eventually(lambda: not names_of(client, directory), within=20.0)
    assert eventually(lambda: not client.networks.list(ids=[network.id]))
    assert owner.is_running(0.0)
    assert running(others) == [True] * len(others)


def test_what_no_owner_can_be_looked_for_is_removed_when_its_time_is_over(client: docker.DockerClient) -> None:
    dead = dead_root()
    elsewhere = PoolLocation(dead.parent, dead.uid, dead.root_pid, dead.root_started, "00000000")
    long_ago = {CREATED_LABEL: str(int(time.time()) - 100), TTL_LABEL: "99"}
    old = created(client, labels_for("old", elsewhere, **long_ago), SERVE)
    owner = own_server(Deadline(10))
    kept_by(owner)
    assert eventually(lambda: not is_there(client, old), within=20.0)
    owner.stop()


def test_a_kill_of_watchdog_and_keeper_while_the_trainer_lives_leaves_nothing_to_the_next_watchdog(
    client: docker.DockerClient,
) -> None:
    _, container = kept(client)
    directory = pool_location().directory
    dogs = watchdogs_of(directory)
    for each in (*dogs, *keepers_of(directory)):
        each.suspend()
    for each in (*dogs, *keepers_of(directory)):
        each.kill()
    assert all_end(dogs)
    assert is_there(client, container)
    owner, mine = kept(client)
    assert eventually(lambda: not is_there(client, container), within=20.0)
    assert owner.is_running(0.0)
    assert is_there(client, mine)


def test_a_kill_of_the_watchdog_alone_leaves_the_end_to_the_keeper_too(client: docker.DockerClient) -> None:
    _, container = kept(client)
    directory = pool_location().directory
    dogs, keepers = watchdogs_of(directory), keepers_of(directory)
    watchdog_of(directory).kill()
    assert all_end([*dogs, *keepers], within=20.0)
    assert not is_there(client, container)
    assert not directory.exists()


def test_a_kill_of_the_watchdog_ends_its_containers_and_not_those_of_its_successor(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    directory = pool_location().directory
    keepers = keepers_of(directory)
    watchdog_of(directory).kill()
    successor, mine = kept(client)
    assert eventually(lambda: not is_there(client, container), within=20.0)
    assert all_end(keepers)
    assert successor.is_running(0.0)
    assert is_there(client, mine)
    assert not owner.is_running(0.0)


@pytest.fixture
def proxy(engine: Engine, tmp_path: Path) -> Iterator[EngineProxy]:
    with engine_proxy(tmp_path / "engine", engine.address) as made:
        yield made


def test_a_container_that_is_made_only_after_its_trainer_was_killed_is_found(
    client: docker.DockerClient, proxy: EngineProxy
) -> None:
    with trainer("creating", DOCKER_HOST=proxy.address) as (program, directory):
        assert proxy.held.wait(30.0)
        program.kill()
        # The keeper has looked for it and found nothing.
        assert proxy.listed.wait(30.0)
        proxy.release.set()
        assert eventually(lambda: history(client, directory) == ["create", "destroy"], within=20.0)
        assert not names_of(client, directory)


def history(client: docker.DockerClient, directory: Path) -> list[str]:
    """What has happened to a pool's containers in the last minute."""
    now = int(time.time())
    label = f"{POOL_LABEL}={directory.name}"
    return [
        event["Action"]
        for event in client.events(since=now - 60, until=now + 1, decode=True, filters={"label": label})
        if event["Action"] in ("create", "destroy")
    ]


def test_a_keeper_that_was_killed_is_replaced_and_its_containers_stay_owned(client: docker.DockerClient) -> None:
    (owner, container), (other, dying) = kept_at_once(client, 2)
    directory = pool_location().directory
    (keeper,) = keepers_of(directory)
    keeper.kill()
    assert eventually(lambda: keepers_of(directory) not in ([], [keeper]))
    assert owner.is_running(0.0)
    assert running([container, dying]) == [True, True]
    dying.kill()
    assert other.exit_code(10.0) == 128 + signal.SIGKILL
    assert not is_there(client, dying)
    owner.stop()
    assert not is_there(client, container)


def test_a_server_that_was_asked_to_end_when_its_keeper_was_killed_is_ended_by_the_next(
    client: docker.DockerClient,
) -> None:
    owner, container = kept(client, STUBBORN)
    assert eventually(lambda: "up" in owner.logs())
    (keeper,) = keepers_of(pool_location().directory)
    keeper.suspend()
    owner._send("stop")
    keeper.kill()
    assert owner._await("stopped", seconds=20.0)
    assert not is_there(client, container)
    owner.close()


def test_a_terminated_watchdog_ends_its_containers(client: docker.DockerClient) -> None:
    kept(client)
    directory = pool_location().directory
    ours = [*watchdogs_of(directory), *keepers_of(directory)]
    assert len(ours) == 3
    for dog in watchdogs_of(directory):
        dog.terminate()
    assert all_end(ours, within=20.0)
    assert names_of(client, directory) == set()
    assert not directory.exists()


def test_shutdown_returns_when_sixteen_containers_are_gone(client: docker.DockerClient) -> None:
    held = kept_at_once(client, MANY)
    directory = pool_location().directory
    pool.shutdown()
    assert names_of(client, directory) == set()
    assert not any(owner.is_running(0.0) for owner, _ in held)
    # The watchdog waits for its keeper for a moment only.
    assert eventually(lambda: keepers_of(directory) == [])


def test_a_container_that_does_not_end_when_asked_is_killed(client: docker.DockerClient) -> None:
    owner, container = kept(client, STUBBORN)
    assert eventually(lambda: "up" in owner.logs())
    owner.stop()
    assert not is_there(client, container)


def test_a_paused_container_is_removed(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    container.pause()
    owner.stop()
    assert not is_there(client, container)


def test_a_container_lingers_after_its_last_user_and_then_ends(client: docker.DockerClient) -> None:
    user = WatchdogClient.connect(Deadline(10))
    assert user.acquire("key", 3600.0, Deadline(10), tick=lambda: None) is None
    kept_by(user)
    container = created(client, labels_for(user.server_id), SERVE)
    container.start()
    user.kept_started()
    user.ready("http://127.0.0.1:1", "token")
    user.close()
    next_user = WatchdogClient.connect(Deadline(10))
    ready = next_user.acquire("key", 0.0, Deadline(10), tick=lambda: None)
    assert ready is not None
    assert running([container]) == [True]
    next_user.close()
    assert eventually(lambda: not is_there(client, container), within=20.0)


def test_a_start_that_is_given_up_leaves_no_container(client: docker.DockerClient) -> None:
    owner, container = just_started(client)
    owner.stop()
    assert not is_there(client, container)
    unstarted = own_server(Deadline(10))
    kept_by(unstarted)
    waiting = created(client, labels_for(unstarted.server_id), SERVE)
    unstarted.stop()
    assert not is_there(client, waiting)


def test_a_start_of_which_nothing_was_made_is_given_up_at_once(client: docker.DockerClient) -> None:
    owner = own_server(Deadline(10))
    kept_by(owner)
    owner._send("stop")
    # Long before one that may still be made would be given up.
    assert owner._await("stopped", seconds=4.0)
    owner.close()


def test_the_volumes_that_nobody_named_go_with_the_container(client: docker.DockerClient) -> None:
    volumes = {each.id for each in client.volumes.list()}
    owner, _ = kept(client, volumes=["/data"])
    assert {each.id for each in client.volumes.list()} > volumes
    owner.stop()
    assert {each.id for each in client.volumes.list()} == volumes


def test_the_pools_network_goes_with_its_last_server(client: docker.DockerClient) -> None:
    network = client.networks.create("of-the-pool", labels=labels_for("of-the-pool"))
    (first, _), (second, _) = kept(client, network=network.name), kept(client)
    second.stop()
    assert client.networks.list(ids=[network.id])
    first.stop()
    assert not client.networks.list(ids=[network.id])
