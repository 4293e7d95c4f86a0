"""Checks of how many sessions there may be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openenv_gym.testing.conformance.checks import NotApplicable, check, require
from openenv_gym.testing.conformance.server import Server, Session, error_code, error_of

_CLOSE_CODES = (1000, 1013)


@check("capacity")
def second_session_or_refusal(server: Server) -> str:
    """A second session works, or is refused by ``CAPACITY_REACHED`` with the numbers and a close."""
    with server.session() as first, server.socket() as socket:
        first.reset()
        second = Session(socket, server)
        reply = second.ask({"type": "reset"})
        if reply.get("type") == "observation":
            return "2 sessions at once"
        data = error_of(reply, "CAPACITY_REACHED")
        for key in ("active_sessions", "max_sessions"):
            require(isinstance(data.get(key), int), f"CAPACITY_REACHED does not tell {key}.")
        code, _ = second.closed()
        require(code in _CLOSE_CODES, f"After CAPACITY_REACHED the server closed with {code}.")
        return f"{data['max_sessions']} at once"


@check("capacity")
def slot_comes_back(server: Server) -> None:
    """A session that was closed makes room for the next one."""
    for _ in range(3):
        with server.session() as session:
            session.reset()


@contextmanager
def second_session(server: Server) -> Iterator[Session]:
    """A session beside one that is open.

    Raises:
        NotApplicable: The server has one at a time.
    """
    with server.socket() as socket:
        session = Session(socket, server)
        reply = session.ask({"type": "reset"})
        if error_code(reply) == "CAPACITY_REACHED":
            raise NotApplicable("the server has one session at a time")
        yield session
