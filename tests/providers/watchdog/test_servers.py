from __future__ import annotations

import signal
from typing import Any

import pytest

from openenv_gym.providers.watchdog.servers import DEAF_SECONDS, GRACE_SECONDS, Server, Servers

NOT_GONE = 0
"""Among the signals: that it is not gone."""


class RecordedUser:
    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def tell(self, event: str, **data: Any) -> None:
        self.heard.append({"event": event, **data})

    @property
    def events(self) -> list[str]:
        return [message["event"] for message in self.heard]


class RecordedResource:
    def __init__(self) -> None:
        self.signals: list[int] = []

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def note_not_gone(self) -> None:
        self.signals.append(NOT_GONE)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def servers(clock: Clock) -> Servers:
    return Servers(clock)


def starting(servers: Servers, key: str | None = "key", linger: float = 60.0) -> tuple[Server, RecordedUser]:
    user = RecordedUser()
    servers.acquire(user, key, linger)
    server = servers.of(user)
    assert server is not None
    server.resource = RecordedResource()
    return server, user


def running(servers: Servers, linger: float = 60.0) -> tuple[Server, RecordedUser, RecordedResource]:
    server, user = starting(servers, linger=linger)
    servers.ready(user, "http://here", "token")
    assert isinstance(server.resource, RecordedResource)
    return server, user, server.resource


def test_the_first_user_starts_and_the_others_wait(servers: Servers) -> None:
    _, first = starting(servers)
    second = RecordedUser()
    servers.acquire(second, "key", 60.0)
    assert (first.events, second.events) == (["start"], ["waiting"])
    servers.ready(first, "http://here", "token")
    assert first.events == ["start", "ready"]
    assert second.heard[1:] == [
        {"event": "ready", "server_id": first.heard[0]["server_id"], "base_url": "http://here", "token": "token"}
    ]


def test_another_key_is_another_server_and_no_key_is_always_another(servers: Servers) -> None:
    ids = {starting(servers, key)[0].id for key in ("a", "b", None, None)}
    assert len(ids) == 4


def test_only_the_starter_can_say_that_it_is_ready(servers: Servers) -> None:
    server, _ = starting(servers)
    second = RecordedUser()
    servers.acquire(second, "key", 60.0)
    servers.ready(second, "http://wrong", None)
    assert not server.is_ready
    assert second.events == ["waiting"]


def test_a_server_that_ended_before_it_was_ready_is_given_to_nobody(servers: Servers) -> None:
    server, first = starting(servers)
    servers.ended(server, 3)
    servers.ready(first, "http://here", None)
    assert first.events == ["start", "exited"]


def test_the_last_user_starts_the_linger_and_a_new_one_stops_it(servers: Servers, clock: Clock) -> None:
    server, first, resource = running(servers, linger=60.0)
    servers.leave(first)
    assert servers.seconds_until_due() == 60.0
    second = RecordedUser()
    servers.acquire(second, "key", 10.0)
    assert second.events == ["ready"]
    clock.now += 61.0
    servers.end_those_due()
    assert resource.signals == []
    servers.leave(second)
    # The latest wish counts.
    clock.now += 10.0
    servers.end_those_due()
    assert resource.signals == [signal.SIGTERM]
    assert server.id in {each.id for each in servers}


def test_a_server_that_does_not_end_is_killed_after_its_grace(servers: Servers, clock: Clock) -> None:
    server, _, resource = running(servers)
    servers.end(server)
    servers.end(server)
    assert resource.signals == [signal.SIGTERM]
    clock.now += GRACE_SECONDS
    servers.end_those_due()
    servers.end_those_due()
    assert resource.signals == [signal.SIGTERM, signal.SIGKILL]
    servers.ended(server, -9)
    assert len(servers) == 0


def test_a_server_that_is_there_long_after_its_kill_is_told_again_and_again(servers: Servers, clock: Clock) -> None:
    server, _, resource = running(servers)
    servers.end(server)
    for seconds in (GRACE_SECONDS, DEAF_SECONDS, DEAF_SECONDS):
        assert servers.seconds_until_due() == seconds
        clock.now += seconds
        servers.end_those_due()
    assert resource.signals == [signal.SIGTERM, signal.SIGKILL, NOT_GONE, NOT_GONE]


def test_an_ending_server_is_handed_to_nobody(servers: Servers) -> None:
    server, _, _ = running(servers)
    servers.end(server)
    later = RecordedUser()
    servers.acquire(later, "key", 60.0)
    assert later.events == ["start"]


def test_a_server_that_dies_is_told_to_its_users_and_forgotten(servers: Servers) -> None:
    server, first, _ = running(servers)
    servers.ended(server, -9)
    assert first.heard[-1] == {"event": "exited", "exit_code": -9}
    assert len(servers) == 0
    servers.leave(first)


def test_who_waits_for_the_end_is_told_of_it(servers: Servers) -> None:
    server, first, _ = running(servers)
    servers.end(server, waiting=first)
    assert "stopped" not in first.events
    servers.ended(server, 0)
    assert first.events[-1] == "stopped"


def test_a_failure_is_told_to_those_who_wait_and_ends_the_server(servers: Servers) -> None:
    server, first = starting(servers)
    second = RecordedUser()
    servers.acquire(second, "key", 60.0)
    servers.failed(first, {"message": "why"})
    assert second.heard == [{"event": "waiting"}, {"event": "failed", "error": {"message": "why"}}]
    assert isinstance(server.resource, RecordedResource)
    assert server.resource.signals == [signal.SIGKILL]
    servers.acquire(second, "key", 60.0)
    assert second.events[-1] == "start"


def test_a_starter_that_dies_is_followed_by_the_next_in_line(servers: Servers) -> None:
    old, first = starting(servers)
    second, third = RecordedUser(), RecordedUser()
    servers.acquire(second, "key", 60.0)
    servers.acquire(third, "key", 60.0)
    servers.leave(first)
    assert (second.events, third.events) == (["waiting", "start"], ["waiting"])
    servers.ended(old, -9)
    assert (second.events, third.events) == (["waiting", "start"], ["waiting"])
    servers.ready(second, "http://here", None)
    assert third.events == ["waiting", "ready"]


def test_a_waiting_user_that_leaves_changes_nothing(servers: Servers) -> None:
    server, first = starting(servers)
    second = RecordedUser()
    servers.acquire(second, "key", 60.0)
    servers.leave(second)
    servers.leave(second)
    servers.ready(first, "http://here", None)
    assert server.is_ready
    assert second.events == ["waiting"]


def test_a_server_without_a_process_is_forgotten_as_soon_as_it_ends(servers: Servers) -> None:
    user = RecordedUser()
    servers.acquire(user, "key", 0.0)
    servers.leave(user)
    assert len(servers) == 0
    assert servers.seconds_until_due() is None
