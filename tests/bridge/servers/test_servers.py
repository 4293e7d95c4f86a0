"""A started server is shared, several are told apart and started together; a lane whose server fails gets another."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psutil
import pytest
from openenv_gym_protocol import errors

from openenv_gym.bridge.servers.making import make_servers
from openenv_gym.bridge.servers.servers import Servers
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.providers import pool
from openenv_gym.providers.location import pool_location
from openenv_gym.transports.timeouts import Timeouts
from tests.support.pools import PROJECTS, eventually, fetch, has_ended, process_at, servers_of

ENVS = Path(__file__).resolve().parents[3] / "envs"

Make: TypeAlias = Callable[..., Servers]


@pytest.fixture(autouse=True)
def _pool_ends_with_the_test() -> Iterator[None]:
    yield
    pool.shutdown()


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Servers] = []

    def plain(*, spares: int = 0, start: float = 60.0, **keywords: Any) -> Servers:
        servers = make_servers(
            base_url=None,
            path=PROJECTS / "plain",
            image=None,
            provider={"linger": 0, "spares": spares},
            token=None,
            timeouts=Timeouts(start=start),
            **{"settings": None, **keywords},
        )
        made.append(servers)
        return servers

    yield plain
    for each in made:
        each.release()


def running() -> list[psutil.Process]:
    """The pool's servers; one whose record is removed just now is none."""
    while True:
        try:
            return [process for process in servers_of(pool_location().directory) if not has_ended(process)]
        except psutil.NoSuchProcess:
            continue


def index_at(base_url: str) -> str:
    return str(fetch(base_url, "/environ").get("OPENENV_GYM_SERVER_INDEX"))


def test_lanes_of_one_server_share_it_and_sessions_per_server_makes_more(make: Make) -> None:
    shared, split = make(), make(sessions_per_server=2)
    addresses = [server.base_url for server in split.of(range(4))]
    assert addresses[0] == addresses[1] != addresses[2] == addresses[3]
    assert {server.base_url for server in shared.of(range(4))} == {addresses[0]}
    known = split.known(0)
    assert known is not None
    assert "plain server starts" in known.logs(50)
    shared.release()
    split.release()
    split.release()
    assert split.known(0) is None


def test_of_servers_that_start_together_one_that_fails_names_itself_and_the_others_are_kept(make: Make) -> None:
    servers = make(sessions_per_server=2, settings={"PLAIN_DIES_AS": "1"})
    started, failures = servers.start(range(6))
    assert set(failures) == {2, 3}
    assert set(started) == {0, 1, 4, 5}
    assert isinstance(failures[2], errors.ServerStartError)
    assert failures[2].message.startswith("Server 1, of the lanes 2, 3: ")
    assert failures[2].exit_code == 1
    assert "one of those that die" in failures[2].logs
    kept = {server.base_url for server in started.values()}
    assert {server.base_url for server in servers.start(range(6))[0].values()} == kept
    servers.release()
    assert eventually(lambda: not running()), "nothing of the lot is left"


def test_servers_that_start_together_share_one_time_budget(make: Make) -> None:
    # Enough for each of them, but not for the ninth, which begins when one of the first eight has started.
    servers = make(sessions_per_server=1, start=4.0, settings={"PLAIN_SLOW": "3"})
    with pytest.raises(errors.ServerStartError, match=r"Server \d+, of the lanes \d+: .* within 4 s"):
        servers.of(range(9))
    servers.release()
    assert eventually(lambda: not running())


def test_a_server_is_released_when_its_last_lane_was_moved_away(make: Make) -> None:
    servers = make()
    old, _ = servers.of([0, 1])
    process = process_at(old.base_url)
    servers.move(0)
    (new,) = servers.of([0])
    assert new.base_url != old.base_url
    assert old.is_held(), "lane 1 is there"
    servers.move(1)
    assert servers.of([1]) == [new], "lanes that leave one server meet again"
    assert not old.is_held()
    assert eventually(lambda: not process.is_running())


def test_a_moved_lane_takes_the_spare_at_once_and_another_is_started(make: Make) -> None:
    servers = make(spares=1)
    servers.of([0])
    servers.keep_spares()
    assert eventually(lambda: len(running()) == 2, within=30)
    servers.move(0)
    before = {process.pid for process in running()}
    (new,) = servers.of([0])
    assert process_at(new.base_url).pid in before, "it ran already"
    assert index_at(new.base_url).startswith("spare.")
    servers.keep_spares()
    assert eventually(lambda: len({process.pid for process in running()} - before) == 1, within=30)
    servers.release()
    assert eventually(lambda: not running())


def test_a_server_that_cannot_be_reached_is_replaced_by_the_spare(make: Make) -> None:
    servers = make(spares=1)
    (old,) = servers.of([0])
    servers.keep_spares()
    assert eventually(lambda: len(running()) == 2, within=30)
    process_at(old.base_url).kill()
    assert servers.replace(0)
    (new,) = servers.of([0])
    assert index_at(new.base_url).startswith("spare.")
    process_at(new.base_url).kill()
    assert servers.replace(0)
    (newest,) = servers.of([0])
    assert index_at(newest.base_url) == "None", "without a spare it is the one that everybody shares, started anew"


def test_a_spare_that_died_meanwhile_is_started_anew(make: Make) -> None:
    servers = make(spares=1)
    servers.of([0])
    (first,) = running()
    servers.keep_spares()
    assert eventually(lambda: len(running()) == 2, within=30)
    assert eventually(lambda: servers._spares is not None and servers._spares._spares[0].is_ready, within=30)
    (spare,) = [process for process in running() if process.pid != first.pid]
    spare.kill()
    spare.wait(30)
    servers.move(0)
    (new,) = servers.of([0])
    assert process_at(new.base_url).pid not in {first.pid, spare.pid}


def test_a_spare_that_cannot_be_started_is_nobodys_failure(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    servers = make(spares=1, settings={"PLAIN_DIES_AS": "spare"})
    servers.of([0])
    servers.keep_spares()
    assert eventually(lambda: "A spare server could not be started" in caplog.text, within=30)
    servers.move(0)
    (new,) = servers.of([0])
    assert index_at(new.base_url).startswith("0.1.")


def test_an_environment_holds_its_spare_ready_and_ends_it_when_it_is_forgotten() -> None:
    env = RemoteVectorEnv(
        path=ENVS / "blackjack", num_envs=2, on_failure="replace", provider={"linger": 0, "spares": 1}
    )
    env.reset(seed=1)
    first = env.servers[0]
    assert eventually(lambda: len(running()) == 2, within=30)
    ours = {process.pid for process in running()}
    process_at(first).kill()
    *_, truncations, infos = env.step(np.zeros(2, np.int64))
    assert truncations.tolist() == [True, True]
    assert infos["failure"].tolist() == ["infrastructure"] * 2
    env.step(np.zeros(2, np.int64))
    assert process_at(env.servers[0]).pid in ours
    assert env.servers[0] == env.servers[1] != first
    del env
    gc.collect()
    assert eventually(lambda: not running(), within=30)
