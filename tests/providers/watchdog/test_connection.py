from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from openenv_gym.providers.watchdog.connection import Connection


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    ours, theirs = socket.socketpair()
    connection = Connection(ours)
    with theirs:
        yield connection, theirs
        connection.close()


def test_messages_come_whole_however_they_were_sent(ends: tuple[Connection, socket.socket]) -> None:
    connection, user = ends
    user.sendall(b'{"op": "a"}\n{"op": ')
    assert list(connection.messages()) == [{"op": "a"}]
    user.sendall(b'"b"}\n')
    assert list(connection.messages()) == [{"op": "b"}]
    assert connection.is_open


def test_what_was_said_before_the_end_is_still_heard(ends: tuple[Connection, socket.socket]) -> None:
    connection, user = ends
    user.sendall(b'{"op": "a"}\n')
    user.close()
    assert list(connection.messages()) == [{"op": "a"}]
    assert not connection.is_open


@pytest.mark.parametrize("line", [b"nonsense\n", b"[1]\n", b"\xff\n"])
def test_what_is_no_message_is_an_error(ends: tuple[Connection, socket.socket], line: bytes) -> None:
    connection, user = ends
    user.sendall(line)
    with pytest.raises(ValueError, match=r"."):
        list(connection.messages())


def test_a_user_that_reads_nothing_is_given_up_instead_of_waited_for(
    ends: tuple[Connection, socket.socket],
) -> None:
    connection, _ = ends
    for _ in range(1000):
        connection.tell("event", text="x" * 10_000)
        if not connection.is_open:
            break
    assert not connection.is_open
    connection.tell("event")


def test_a_user_that_has_gone_is_told_nothing(ends: tuple[Connection, socket.socket]) -> None:
    connection, user = ends
    user.close()
    connection.tell("event")
    assert not connection.is_open
