"""The keeper follows a container: its log, its end, and what an engine does meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers import pool
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.keeper_command import keeper_command
from openenv_gym.providers.docker.labels import POOL_LABEL, SERVER_LABEL
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.watchdog_client import own_server
from tests.support.engine import Engine
from tests.support.engine_proxy import EngineProxy, engine_proxy
from tests.support.keeping import SERVE, created, is_there, just_started, kept, kept_by, labels_for
from tests.support.log_records import records_of_ours
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
    kept_by(owner)
    owner.kept_started()
    assert owner.exit_code(EXIT_SECONDS) == 137
    owner.stop()


def test_what_has_one_key_is_kept_by_one_process(client: docker.DockerClient, engine: Engine) -> None:
    first, second, third = (own_server(Deadline(10)) for _ in range(3))
    argv, env = keeper_command(engine.address)
    first.keep(argv, env=env, key="one", deadline=Deadline(30))
    # Two processes of a program seldom have the same environment.
    second.keep(argv, env={**env, "ANOTHER": "1"}, key="one", deadline=Deadline(30))
    (keeper,) = keepers_of(pool_location().directory)
    third.keep(argv, env=env, key="two", deadline=Deadline(30))
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
    other.keep(argv, env=env, key="other", deadline=Deadline(30))
    left = created(client, labels_for("left"), SERVE)
    third = own_server(Deadline(10))
    third.keep(argv, env=env, key="third", deadline=Deadline(30))
    # The third has looked around: what no server of the pool has made is gone.
    assert eventually(lambda: not is_there(client, left), within=EXIT_SECONDS)
    assert is_there(client, container)
    assert owner.is_running(0.0)
    for each in (owner, other, third):
        each.stop()


def test_a_container_of_an_image_that_was_made_of_ours_is_somebody_elses(client: docker.DockerClient) -> None:
    owner, container = kept(client)
    container.commit("openenv-gym-copy", "test")
    # It has all of the labels, of which it knows nothing.
    copy = client.containers.run("openenv-gym-copy:test", list(SERVE), detach=True)
    try:
        assert copy.labels[SERVER_LABEL] == owner.server_id
        other, _ = kept(client)
        # A new keeper looks around, and later ends all that is kept.
        pool.shutdown()
        assert not is_there(client, container)
        assert is_there(client, copy)
        for each in (owner, other):
            each.close()
    finally:
        copy.remove(force=True)
        client.images.remove("openenv-gym-copy:test", force=True)


def test_what_could_not_be_ended_because_the_engine_went_away_is_told_with_how_to_find_it(
    client: docker.DockerClient,
    proxy: EngineProxy,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "_SHUTDOWN_SECONDS", 2.0)
    _, container = kept(client)
    proxy.vanish()
    try:
        pool.shutdown()
        (warning,) = [each for each in records_of_ours(caplog) if each.levelname == "WARNING"]
        assert f"docker ps --all --filter label={POOL_LABEL}={pool_location().directory.name}" in warning.getMessage()
        assert is_there(client, container)
    finally:
        proxy.appear()
    # Then the pool can end after all.
    assert eventually(lambda: not pool_location().directory.exists(), within=EXIT_SECONDS)
    assert not is_there(client, container)


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
