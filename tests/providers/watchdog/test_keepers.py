"""What the watchdog and a keeper say to each other; the keeper here is a program that only notes what it is told."""

from __future__ import annotations

import json
import os
import selectors
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from openenv_gym_protocol.errors import ProviderError, ServerStartError

from openenv_gym.providers import pool
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.location import pool_location
from openenv_gym.providers.watchdog import keepers
from openenv_gym.providers.watchdog.keepers import LOST_EXIT_CODE
from openenv_gym.providers.watchdog.servers import Servers
from openenv_gym.providers.watchdog_client import WatchdogClient, own_server
from tests.support.log_records import records_of_ours
from tests.support.pools import PATIENCE, all_end, eventually, keepers_of, watchdog_of

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "scripted_keeper.py"


class Notes:
    """What keepers have noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> list[dict[str, Any]]:
        return [message for _, message in self._read()]

    @property
    def events(self) -> list[str]:
        return [message["event"] for message in self()]

    @property
    def keepers(self) -> list[int]:
        return list(dict.fromkeys(pid for pid, _ in self._read()))

    def _read(self) -> list[tuple[int, dict[str, Any]]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


def keep(owner: WatchdogClient, notes: Notes, manner: str = "") -> None:
    argv = [sys.executable, str(PROGRAM), str(notes.path)]
    owner.keep(argv, env={"KEEPER": manner}, key=manner, deadline=Deadline(20))


def kept(notes: Notes, manner: str = "") -> WatchdogClient:
    owner = own_server(Deadline(10))
    keep(owner, notes, manner)
    return owner


def keeper() -> psutil.Process:
    (found,) = keepers_of(pool_location().directory)
    return found


def test_a_server_is_kept_before_anything_is_made_and_followed_from_then_on(notes: Notes) -> None:
    owner = kept(notes)
    assert notes() == [{"event": "keep", "server_id": owner.server_id}]
    owner.kept_started()
    owner.ready("http://127.0.0.1:1", None)
    owner.stop()
    assert notes.events == ["keep", "follow", "stop"]


def test_servers_of_one_key_share_a_process(notes: Notes) -> None:
    owners = [kept(notes), kept(notes), kept(notes, "another")]
    assert len(notes.keepers) == 2
    for owner in owners:
        owner.stop()


def test_a_program_that_cannot_be_run_is_an_error_that_names_it() -> None:
    owner = own_server(Deadline(10))
    with pytest.raises(ProviderError, match="/nowhere/keeper"):
        owner.keep(["/nowhere/keeper"], env={}, key="", deadline=Deadline(10))
    owner.stop()


def test_a_program_that_dies_without_a_word_is_an_error_that_says_what_it_wrote(notes: Notes) -> None:
    owner = own_server(Deadline(10))
    with pytest.raises(ProviderError, match="no engine anywhere"):
        keep(owner, notes, "dies")
    assert owner.exit_code(5.0) == LOST_EXIT_CODE
    owner.stop()


def test_a_keeper_that_was_killed_is_replaced_by_one_that_is_told_everything(notes: Notes) -> None:
    owner, starting = kept(notes), kept(notes)
    owner.kept_started()
    owner.ready("http://127.0.0.1:1", None)
    assert eventually(lambda: len(notes.events) == 3)
    keeper().kill()
    assert eventually(lambda: len(notes.events) == 6)
    assert notes()[3:] == [
        {"event": "keep", "server_id": owner.server_id},
        {"event": "follow", "server_id": owner.server_id},
        {"event": "keep", "server_id": starting.server_id},
    ]
    assert len(notes.keepers) == 2
    assert owner.is_running(0.0)
    for each in (owner, starting):
        each.stop()


def test_a_keeper_that_does_not_speak_as_agreed_is_replaced_but_not_for_ever(notes: Notes) -> None:
    owner = kept(notes, "babbles")
    owner.kept_started()
    assert owner.exit_code(20.0) == LOST_EXIT_CODE
    assert 2 < len(notes.keepers) < 10
    assert keepers_of(pool_location().directory) == []
    owner.stop()


def test_a_server_that_no_keeper_can_be_had_for_any_more_has_ended(notes: Notes) -> None:
    owner = kept(notes, "dies again")
    owner.ready("http://127.0.0.1:1", None)
    keeper().kill()
    assert owner.exit_code(10.0) == LOST_EXIT_CODE
    assert not owner.is_running(0.0)


def test_what_no_server_of_the_pool_has_made_is_ended(notes: Notes) -> None:
    owner = kept(notes, "finds")
    killed = {"event": "kill", "server_id": "of an earlier watchdog", "settled": True}
    assert eventually(lambda: killed in notes())
    owner.stop()


def test_a_starter_that_gives_up_says_that_nothing_more_is_made(notes: Notes) -> None:
    stopped, failed = kept(notes), kept(notes)
    stopped.stop()
    failed.fail(ServerStartError("it did not"))
    assert eventually(lambda: notes.events.count("kill") == 2)
    assert [message["settled"] for message in notes() if message["event"] == "kill"] == [True, True]


def test_of_a_starter_that_died_nobody_knows_whether_something_is_made_still(notes: Notes) -> None:
    owner = kept(notes)
    owner.close()
    assert eventually(lambda: "kill" in notes.events)
    assert [message["settled"] for message in notes() if message["event"] == "kill"] == [False]


def test_a_keeper_ends_with_its_watchdog(notes: Notes) -> None:
    owner = kept(notes)
    owner.kept_started()
    owner.ready("http://127.0.0.1:1", None)
    process = keeper()
    pool.shutdown()
    assert all_end([process])
    assert notes.events == ["keep", "follow", "stop", "the end"]


def test_a_keeper_has_a_session_and_an_environment_of_its_own(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    owner = kept(notes)
    process = keeper()
    assert os.getsid(process.pid) == process.pid
    assert "HF_TOKEN" not in process.environ()
    owner.stop()


def test_a_program_that_died_does_not_stand_in_the_way_of_another(notes: Notes) -> None:
    first, second = own_server(Deadline(10)), own_server(Deadline(10))
    argv = [sys.executable, str(PROGRAM), str(notes.path)]
    with pytest.raises(ProviderError, match="no engine anywhere"):
        first.keep(argv, env={"KEEPER": "dies"}, key="one", deadline=Deadline(20))
    second.keep(argv, env={}, key="one", deadline=Deadline(20))
    assert notes.events == ["keep"]
    for owner in (first, second):
        owner.stop()


@pytest.mark.parametrize("how", ["stop", "shutdown"])
def test_what_a_keeper_could_not_end_is_told_with_how_to_find_it(
    notes: Notes, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    owner = kept(notes, "leaves")
    owner.kept_started()
    owner.ready("http://127.0.0.1:1", None)
    if how == "stop":
        owner.stop()
    else:
        pool.shutdown()
        owner.close()
    assert [each.levelname for each in records_of_ours(caplog)] == ["WARNING"]
    assert "`look for it` lists what is left" in caplog.text


def test_a_start_that_a_shutdown_cuts_off_says_so(notes: Notes) -> None:
    owner = kept(notes)
    pool.shutdown()
    with pytest.raises(ServerStartError, match="The pool was shut down"):
        owner.exit_code(5.0)
    owner.close()


def test_a_start_while_a_shutdown_still_ends_the_servers_before_says_so(notes: Notes) -> None:
    owner = kept(notes, "is deaf")
    watching = WatchdogClient.connect(Deadline(10))
    watching._send("shutdown")
    watching._await("ending", seconds=10.0)
    deaf = keeper()
    try:
        with pytest.raises(ProviderError, match=r"was shut down before.*`docker info`"):
            own_server(Deadline(0.5))
    finally:
        # The next one hears.
        deaf.kill()
    for client in (owner, watching):
        client.close()


def test_a_watchdog_that_does_not_answer_takes_nobody() -> None:
    owner = own_server(Deadline(10))
    watchdog = watchdog_of(pool_location().directory)
    watchdog.suspend()
    try:
        with pytest.raises(ProviderError, match="The pool takes nobody"):
            own_server(Deadline(0.5))
    finally:
        watchdog.resume()
    owner.stop()


class Ears:
    """A user, who notes what a server's end left."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def tell(self, event: str, **data: Any) -> None:
        self.heard.append({"event": event, **data})


@pytest.mark.parametrize(("manner", "is_left"), [("is deaf", False), ("is ever deaf", True)])
def test_a_keeper_that_is_deaf_is_replaced_once(
    manner: str, is_left: bool, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keepers, "DEAF_SECONDS", 0.0)
    servers, user, selector = Servers(), Ears(), selectors.DefaultSelector()
    servers.acquire(user, None, 0.0)
    (server,) = servers
    kept_here = keepers.Keepers(tmp_path, servers, selector)
    kept_here.keep(server, "key", [sys.executable, str(PROGRAM), str(notes.path)], {"KEEPER": manner})
    servers.end(server, waiting=user)
    deadline, unanswered = Deadline(PATIENCE), 0
    while server.resource is not None and not deadline.passed:
        for ready, _ in selector.select(0.1):
            ready.data()
        if server.resource is not None and notes.events.count("kill") > unanswered:
            unanswered += 1
            server.resource.note_not_gone()
    assert len(notes.keepers) == 2
    assert user.heard[-1] == {"event": "stopped", "is_left": is_left}
    kept_here.leave()
