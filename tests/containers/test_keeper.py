"""The keeper follows a container: its log, its end, and what an engine does meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.keeper_command import keeper_command
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.watchdog_client import own_server
from tests.support.engine import Engine
from tests.support.engine_proxy import EngineProxy, engine_proxy
from tests.support.keeping import SERVE, created, is_there, just_started, kept, labels_for
from tests.support.pools import eventually, keepers_of

pytestmark = pytest.mark.containers

EXIT_SECONDS = 20.0
LARGEST_KEEPER_BYTES = 60 * 1024 * 1024


def shell(program: str) -> list[str]:
    return ["/bin/sh", "-c", program]


def test_a_container_that_dies_tells_its_exit_code_and_its_last_lines(client: docker.DockerClient) -> None:
    owner, container = just_started(client, shell("echo one; echo two >&2; exit 7"))
    assert owner.exit_code(EXIT_SECONDS) == 7
    assert sorted(owner.logs().splitlines()) == ["one", "two"]
    assert not is_there(client, container)
    with pytest.raises(ServerStartError) as caught:
        owner.ready("http://127.0.0.1:1", None)
    assert caught.value.exit_code == 7
    assert "two" in caught.value.logs
    owner.stop()


def test_all_of_a_log_is_there_when_the_end_is_told(client: docker.DockerClient) -> None:
    owner, _ = just_started(client, shell("seq 1 20000"))
    assert owner.exit_code(EXIT_SECONDS) == 0
    assert owner.logs(3).splitlines() == ["19998", "19999", "20000"]
    owner.stop()


def test_a_log_is_followed_while_the_container_runs(client: docker.DockerClient) -> None:
    owner, _ = kept(client)
    assert eventually(lambda: "Serving HTTP" in owner.logs())
    path = pool_location().directory / f"{owner.server_id}.log"
    assert path.stat().st_mode & 0o077 == 0
    owner.stop()
    assert "Serving HTTP" in owner.logs()


def test_a_container_that_ends_later_is_told_to_its_user(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    assert owner.exit_code() is None
    container.exec_run(shell("kill -TERM 1"), detach=True)
    assert owner.exit_code(EXIT_SECONDS) == 143
    assert not owner.is_running(0.0)
    assert not is_there(client, container)


def test_a_container_without_memory_left_says_so_and_how_much_it_had(client: docker.DockerClient) -> None:
    owner, _ = just_started(client, ("python3", "-c", "b'x' * (1 << 30)"), mem_limit="64m", memswap_limit="64m")
    assert owner.exit_code(EXIT_SECONDS) == 137
    assert owner.logs(1) == "openenv-gym: the container ran out of its memory (64m)"
    owner.stop()


def test_a_container_that_somebody_restarts_has_ended(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    container.restart(timeout=0)
    assert owner.exit_code(EXIT_SECONDS) is not None
    assert eventually(lambda: not is_there(client, container))


def test_a_container_that_somebody_removes_has_ended(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    container.remove(force=True)
    assert owner.exit_code(EXIT_SECONDS) == 137


def test_a_container_that_was_gone_before_it_was_followed_has_ended(client: docker.DockerClient) -> None:
    owner = own_server(Deadline(10))
    argv, env = keeper_command(None)
    owner.keep(argv, env=env, deadline=Deadline(30))
    owner.kept_started()
    assert owner.exit_code(EXIT_SECONDS) == 137
    owner.stop()


def test_the_same_program_and_environment_are_one_process(client: docker.DockerClient, engine: Engine) -> None:
    first, second, third = (own_server(Deadline(10)) for _ in range(3))
    argv, env = keeper_command(engine.address)
    first.keep(argv, env=env, deadline=Deadline(30))
    second.keep(argv, env=dict(reversed(env.items())), deadline=Deadline(30))
    (keeper,) = keepers_of(pool_location().directory)
    third.keep(argv, env={**env, "ANOTHER": "1"}, deadline=Deadline(30))
    assert len(keepers_of(pool_location().directory)) == 2
    assert keeper.memory_info().rss < LARGEST_KEEPER_BYTES
    assert keeper.cwd() == "/"
    for owner in (first, second, third):
        owner.stop()


def test_a_signal_that_ends_a_whole_session_does_not_end_the_keeper(client: docker.DockerClient) -> None:
    owner, _ = kept(client)
    before = keepers_of(pool_location().directory)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        before[0].send_signal(number)
    other, _ = kept(client)
    assert keepers_of(pool_location().directory) == before
    for each in (owner, other):
        each.stop()


def test_two_keepers_on_one_engine_leave_each_others_containers_alone(
    client: docker.DockerClient, engine: Engine
) -> None:
    owner, container = kept(client)
    other = own_server(Deadline(10))
    argv, env = keeper_command(engine.address)
    other.keep(argv, env={**env, "ANOTHER": "1"}, deadline=Deadline(30))
    left = created(client, labels_for("left"), SERVE)
    third = own_server(Deadline(10))
    third.keep(argv, env={**env, "ANOTHER": "2"}, deadline=Deadline(30))
    # The third has looked around: what no server of the pool has made is gone.
    assert eventually(lambda: not is_there(client, left), within=EXIT_SECONDS)
    assert is_there(client, container)
    assert owner.is_running(0.0)
    for each in (owner, other, third):
        each.stop()


@pytest.fixture
def proxy(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineProxy]:
    with engine_proxy(tmp_path / "engine", engine.address) as made:
        made.release.set()
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made


def test_an_engine_that_is_away_for_a_while_costs_no_container(client: docker.DockerClient, proxy: EngineProxy) -> None:
    owner, container = kept(client, shell("echo before; while [ ! -e /go ]; do sleep 0.1; done; echo after; exit 4"))
    assert eventually(lambda: owner.logs() == "before")
    proxy.vanish()
    # While it is away, the end of the container is not to be noticed, nor is the absence taken for its end.
    assert owner.exit_code(1.0) is None
    assert owner.is_running(0.0)
    proxy.appear()
    container.exec_run(["touch", "/go"])
    assert owner.exit_code(EXIT_SECONDS) == 4
    assert owner.logs() == "before\nafter"
    assert not is_there(client, container)


def test_a_container_that_ended_while_the_engine_was_away_is_told_afterwards(
    client: docker.DockerClient, proxy: EngineProxy
) -> None:
    owner, container = kept(client)
    proxy.vanish()
    container.stop(timeout=0)
    assert owner.exit_code(0.5) is None
    proxy.appear()
    assert owner.exit_code(EXIT_SECONDS) is not None
    assert not is_there(client, container)


def test_a_stop_is_done_when_the_engine_is_back(client: docker.DockerClient, proxy: EngineProxy) -> None:
    owner, container = kept(client)
    proxy.vanish()
    owner._send("stop")
    assert owner._receive(1.0) is None
    proxy.appear()
    assert owner._await("stopped", seconds=EXIT_SECONDS)
    assert not is_there(client, container)
    owner.close()
