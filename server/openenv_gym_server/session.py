"""One session: a private environment, where it runs, and where it stands."""

from __future__ import annotations

import asyncio
import enum
import functools
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, TypeVar

from openenv_gym_protocol.errors import OpenEnvGymError, SessionLost

from openenv_gym_server import frames
from openenv_gym_server.capacity import Capacity
from openenv_gym_server.contract import Contract
from openenv_gym_server.dispatch import Host
from openenv_gym_server.placement import placed
from openenv_gym_server.tracing import carried, make_host
from openenv_gym_server.workers.base import Job, Worker
from openenv_gym_server.workers.inline import InlineWorker

_T = TypeVar("_T")


class SessionState(enum.Enum):
    """Where a session stands."""

    STARTING = enum.auto()
    """Its environment is being made."""
    OPEN = enum.auto()
    CLOSING = enum.auto()
    """It takes no more work; its environment is being closed."""
    HUNG = enum.auto()
    """Its code passed its deadline and may still run; the client and the slot are gone."""
    CLOSED = enum.auto()


_OPEN = SessionState.OPEN  # looked up by its name, it takes as long as a rule


class Session:
    """A private environment of one client. Used on the server's event loop only.

    Attributes:
        session_id: Unguessable; whoever knows it may use the session.
        host: Owns the environment, on the worker.
        home: The thread or loop it shares with other sessions, or None.
        used_at: When it last took work, on the monotonic clock.
        slots: How much of the capacity it takes: as many as it has lanes.
        peer: Whose share of it that is, where peers have shares.
        idle_ttl: Idle seconds after which it ends without a socket; None for those of the settings.
        holds_slot: It counts against the capacity.
    """

    def __init__(self, contract: Contract, *, capacity: Capacity, socket: bool, now: float) -> None:
        self.session_id = placed(str(uuid.uuid4()), contract.config.worker)
        self.host = make_host(contract, self.session_id)
        self.state = SessionState.STARTING
        self.capacity = capacity
        self.socket = socket
        self.home: Any = None
        self.worker: Worker
        self.created_at = now
        self.used_at = now
        self.closing_since = now
        self.slots = 1
        self.peer: str | None = None
        self.idle_ttl: float | None = None
        self.holds_slot = True
        self.counts_as_hung = False
        self.on_lost: Callable[[OpenEnvGymError], None] | None = None
        self._waiting: set[asyncio.Future[Any]] = set()

    @functools.cached_property
    def ended(self) -> asyncio.Event:
        """Its environment is closed. Made when it is asked for: most are not, until then, and it is not small."""
        return asyncio.Event()

    @property
    def busy(self) -> bool:
        """Calls are under way or wait."""
        return bool(self._waiting) or self.host.activity is not None

    def exchange(self, frame: str | bytes, reply: Callable[[str | None], None]) -> None:
        """Answers a frame of the standard wire; ``reply`` gets the text, or None where the client closes.

        Frames are answered in the order in which they come. Nothing is replied after the session is lost.
        """
        worker = self.worker
        if isinstance(worker, InlineWorker):
            self._reply(reply, worker.run(frames.exchange_at_once, self.host, frame))
        else:
            worker.submit(_Exchange(self, frame, reply))

    def job(self, work: Callable[[Host], Coroutine[Any, Any, _T]], reply: Callable[[_T | BaseException], None]) -> Job:
        """A piece of work with the environment, for whoever gives it to the worker.

        Args:
            work: What to do.
            reply: Gets its result, or the exception that it raised. Nothing is replied after the session is lost.
        """
        return Job(partial(_caught, work, self.host), partial(self._reply, reply))

    async def call(self, work: Callable[[Host], Coroutine[Any, Any, _T]], *, now: float) -> _T:
        """Runs work with the environment, after whatever was asked before.

        Raises:
            SessionLost: The session has ended.
            StepTimeout: The work passed its deadline; the session is gone.
            OpenEnvGymError: What the work raised.
        """
        if self.state not in (SessionState.STARTING, SessionState.OPEN):
            raise SessionLost(f"Session {self.session_id} has ended; reset to get another one.")
        self.used_at = now
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            self.worker.submit(Job(partial(_caught, carried(work), self.host), partial(_resolve, future)))
            outcome = await future
        finally:
            self._waiting.discard(future)
        if isinstance(outcome, BaseException):
            raise outcome
        result: _T = outcome
        return result

    def lose(self, error: OpenEnvGymError) -> None:
        """Tells whoever waits, and the socket, that the session is gone."""
        self.fail_calls(error)
        if self.on_lost is not None:
            self.on_lost(error)

    def fail_calls(self, error: OpenEnvGymError) -> None:
        """Ends the calls under way or waiting, whose results will reach nobody."""
        for future in self._waiting:
            _resolve(future, error)

    def _reply(self, reply: Callable[[Any], None], answer: Any) -> None:
        if self.state is _OPEN:
            reply(answer)


class _Exchange(NamedTuple):
    """The job of answering a frame: what a ``Job`` is, of one piece, because there is one for each step."""

    session: Session
    frame: str | bytes
    take: Callable[[str | None], None]

    def work(self) -> Coroutine[Any, Any, str | None]:
        return frames.exchange(self.session.host, self.frame)

    def at_once(self) -> str | None:
        return frames.exchange_at_once(self.session.host, self.frame)

    def reply(self, answer: str | None) -> None:
        self.session._reply(self.take, answer)


async def _caught(work: Callable[[Host], Awaitable[_T]], host: Host) -> _T | BaseException:
    try:
        return await work(host)
    except OpenEnvGymError as error:
        return error
    except (NotImplementedError, IndexError) as error:
        return error
    except BaseException as error:
        if host.is_cancelled(error):
            raise
        return host.report(error, "the request")


def _resolve(future: asyncio.Future[Any], outcome: Any) -> None:
    if not future.done():
        future.set_result(outcome)
