"""Who sees to the lanes, the caller or the event loop, changes nothing of what a trainer meets."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector.frames import SUBPROTOCOL
from openenv_gym_protocol.websocket_frames import FrameReader
from websockets.exceptions import ConnectionClosed

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.lanes import rounds
from openenv_gym.bridge.lanes.answers import Inbox
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from openenv_gym.errors import WaitTimeout
from openenv_gym.transports import loan, websocket_connection
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.loan import Loan
from openenv_gym.transports.websocket_connection import WebSocketConnection
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.broken_network import broken_network
from tests.support.scripted_server import PATIENCE, Session, scripted_server
from tests.support.servers import RunningServer, killed, running_server
from tests.support.vector_peer import HTTP, Peer

Env = RemoteEnv | RemoteVectorEnv


@pytest.fixture(scope="module")
def faulty() -> Iterator[RunningServer]:
    """A server whose sessions may hang: it has to be killed."""
    with running_server("tests.support.apps.bridge_faults:app") as server, killed(server):
        yield server


@contextmanager
def patiently() -> Iterator[None]:
    """Has callers keep the connections, however slow this machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loan, "PATIENCE", PATIENCE)
        patch.setattr(rounds, "PATIENCE", PATIENCE)
        yield


@pytest.fixture
def patient() -> Iterator[None]:
    with patiently():
        yield


def orders(*commands: str) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.zeros_like(numbers)}


def loan_of(env: Env) -> Loan:
    return env._lanes._rounds._loan


def until_taken_back(env: Env) -> None:
    """Waits until the event loop sees to the lanes."""
    give_up = time.monotonic() + PATIENCE
    while loan_of(env).is_lent:
        assert time.monotonic() < give_up
        io_thread().run(_nothing())


async def _nothing() -> None:
    pass


class Scripted:
    """One session on either wire, which answers with what it is told to, one after another."""

    def __init__(self, session: Session, wire: Wire) -> None:
        self.session = session
        self._peer = Peer(session) if wire == "vector" else None

    async def welcome(self) -> None:
        """Takes what comes before the first reset."""
        if self._peer is not None:
            await self._peer.welcome()

    async def receive(self) -> Any:
        """The next request."""
        return await (self.session if self._peer is None else self._peer).receive()

    async def answer(self, request: Any, value: int) -> None:
        """Answers a reset or a step."""
        if self._peer is None:
            await self.session.observe(value)
        else:
            await self._peer.rows(request, {0: value})


Script = Callable[[Scripted], Awaitable[None]]


@pytest.fixture
def serve(wire: Wire) -> Iterator[Callable[[Script], str]]:
    """Serves one session, which follows a script from its first reset on, and returns the server's address."""
    with ExitStack() as stack:

        def serve(script: Script) -> str:
            async def run(session: Session) -> None:
                scripted = Scripted(session, wire)
                await scripted.welcome()
                await script(scripted)

            offered = [SUBPROTOCOL] if wire == "vector" else None
            return stack.enter_context(scripted_server(run, http=HTTP, subprotocols=offered)).base_url

        yield serve


@pytest.mark.usefixtures("patient")
def test_steps_that_are_answered_at_once_meet_no_other_thread(
    walk: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    with closing(RemoteVectorEnv(walk.base_url, num_envs=8, wire=wire)) as env:
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "IDLE_SECONDS", PATIENCE)
            env.reset(seed=1)

        def used(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the event loop was called")

        with monkeypatch.context() as patch:
            patch.setattr(io_thread().loop, "call_soon_threadsafe", used)
            patch.setattr(io_thread().loop, "create_task", used)
            patch.setattr(Inbox, "wait", used)
            for _ in range(3):
                env.step(np.ones(8, np.int64))
            env.send(np.ones(4, np.int64), [1, 3, 5, 7])
            received: list[int] = []
            while len(received) < 4:
                received += env.recv()[0].tolist()
        assert sorted(received) == [1, 3, 5, 7]


@pytest.mark.usefixtures("patient")
def test_an_idle_callers_connections_go_back_and_come_again(walk: RunningServer, wire: Wire) -> None:
    with closing(RemoteVectorEnv(walk.base_url, num_envs=2, wire=wire)) as env:
        env.reset(seed=1)
        for _ in range(2):
            env.step(np.ones(2, np.int64))
            assert loan_of(env).is_lent
            until_taken_back(env)


def test_pings_are_answered_while_the_caller_is_idle(serve: Callable[[Script], str], wire: Wire) -> None:
    answered = threading.Event()

    async def script(scripted: Scripted) -> None:
        await scripted.answer(await scripted.receive(), 1)
        await scripted.answer(await scripted.receive(), 2)
        await (await scripted.session.socket.ping())
        answered.set()
        await scripted.answer(await scripted.receive(), 3)
        await scripted.receive()

    with closing(RemoteEnv(serve(script), wire=wire)) as env:
        env.reset()
        assert env.step(0)[0] == 2
        assert answered.wait(PATIENCE), "nobody made a call, and the ping was answered all the same"
        assert env.step(0)[0] == 3


def test_pings_are_answered_while_the_caller_waits(serve: Callable[[Script], str], wire: Wire) -> None:
    async def script(scripted: Scripted) -> None:
        await scripted.answer(await scripted.receive(), 1)
        for value in range(2, 5):
            step = await scripted.receive()
            await (await scripted.session.socket.ping())
            await scripted.answer(step, value)
        await scripted.receive()

    with closing(RemoteEnv(serve(script), wire=wire)) as env:
        env.reset()
        assert [env.step(0)[0] for _ in range(3)] == [2, 3, 4]


def test_a_server_that_closed_while_nobody_called_is_noticed_by_the_next_call(
    serve: Callable[[Script], str], wire: Wire
) -> None:
    closed = threading.Event()

    async def script(scripted: Scripted) -> None:
        await scripted.answer(await scripted.receive(), 1)
        await scripted.answer(await scripted.receive(), 2)
        await scripted.session.socket.close(1001, "enough")
        closed.set()

    with closing(RemoteEnv(serve(script), wire=wire)) as env:
        env.reset()
        env.step(0)
        assert closed.wait(PATIENCE)
        with pytest.raises(errors.InfrastructureFailure, match="enough"):
            env.step(0)


def test_a_reply_and_the_close_behind_it_are_both_read(serve: Callable[[Script], str], wire: Wire) -> None:
    async def script(scripted: Scripted) -> None:
        await scripted.answer(await scripted.receive(), 1)
        await scripted.answer(await scripted.receive(), 2)
        await scripted.session.socket.close(4321, "enough")

    with closing(RemoteEnv(serve(script), wire=wire)) as env:
        env.reset()
        assert env.step(0)[0] == 2
        with pytest.raises(errors.InfrastructureFailure) as raised:
            env.step(0)
        causes = [raised.value, raised.value.__cause__]
        assert [each.close_code for each in causes if isinstance(each, errors.ConnectionLost)][:1] == [4321]


@pytest.mark.parametrize("by", ["another thread", "a signal's handler"])
@pytest.mark.parametrize("kind", [RemoteEnv, RemoteVectorEnv])
def test_closing_ends_a_call_that_reads(
    by: str, kind: type[Env], faulty: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    env: Any = kind(faulty.base_url, wire=wire)
    with patiently():
        env.reset()
    hang = orders("hang") if kind is RemoteVectorEnv else {key: value[0] for key, value in orders("hang").items()}
    read = Loan.read
    reads = threading.Event()

    def read_and_tell(self: Loan, *args: Any, **kwargs: Any) -> None:
        if by == "another thread":
            reads.set()
        else:
            signal.raise_signal(signal.SIGALRM)
        read(self, *args, **kwargs)

    monkeypatch.setattr(Loan, "read", read_and_tell)
    before = signal.signal(signal.SIGALRM, lambda *_: env.close())
    try:
        with ThreadPoolExecutor(1) as other:
            closed = other.submit(lambda: by != "another thread" or (reads.wait(PATIENCE) and env.close() is None))
            with pytest.raises(errors.OpenEnvGymError):
                env.step(hang)
            assert closed.result(PATIENCE)
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(errors.ClientClosed):
        env.step(hang)


@pytest.mark.parametrize(
    ("owner", "name", "is_done_first"),
    [
        (FrameReader, "feed", False),
        (Inbox, "put", True),
        (websocket_connection, "masked_frame", False),
        (os, "write", True),
        (WebSocketConnection, "send", True),
        (WebSocketConnection, "read", True),
    ],
)
@pytest.mark.usefixtures("patient")
def test_an_interrupt_in_the_midst_of_writing_or_reading_ends_the_sessions(
    owner: Any, name: str, is_done_first: bool, faulty: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    with closing(RemoteVectorEnv(faulty.base_url, num_envs=3, wire=wire)) as env:
        env.reset()
        fine = orders("fine", "fine", "fine")
        env.step(fine)
        called = getattr(owner, name)
        here = threading.get_ident()

        def interrupted(*args: Any) -> Any:
            result = called(*args) if is_done_first else None
            if threading.get_ident() == here:
                monkeypatch.undo()
                raise KeyboardInterrupt
            return result if is_done_first else called(*args)

        monkeypatch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            env.step(fine)
        with pytest.raises(errors.SessionLost):
            env.step(fine)
        env.reset()
        assert env.step(fine)[0].tolist() == [[1.0], [1.0], [1.0]]


@pytest.mark.usefixtures("patient")
def test_the_sessions_of_an_interrupted_call_do_not_linger(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    settings = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_LINGER": "600"}
    with (
        running_server("tests.support.apps.recorded:app", env=settings) as server,
        closing(RemoteVectorEnv(server.base_url, num_envs=2, wire=wire)) as env,
    ):
        action = {"number": np.array([1, 2]), "seconds": np.zeros(2, np.float32)}
        for _ in range(3):
            env.reset()

            def interrupted(*_: Any) -> Any:
                monkeypatch.undo()
                raise KeyboardInterrupt

            monkeypatch.setattr(WebSocketConnection, "read", interrupted)
            with pytest.raises(KeyboardInterrupt):
                env.step(action)


@pytest.mark.usefixtures("patient")
def test_what_passes_for_the_end_of_a_call_in_the_midst_of_reading_ends_the_session_too(
    faulty: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    fine = {key: value[0] for key, value in orders("fine").items()}
    with closing(RemoteEnv(faulty.base_url, wire=wire)) as env:
        env.reset()

        def late(*_: Any) -> Any:
            monkeypatch.undo()
            raise errors.ReplyTimeout("said by the handler of a signal")

        monkeypatch.setattr(WebSocketConnection, "read", late)
        with pytest.raises(errors.ReplyTimeout):
            env.step(fine)
        with pytest.raises(errors.SessionLost):
            env.step(fine)
        env.reset()
        assert env.step(fine)[0].tolist() == [1.0]


@pytest.mark.usefixtures("patient")
def test_a_forked_child_reads_nothing_of_the_parents(walk: RunningServer, wire: Wire) -> None:
    with closing(RemoteVectorEnv(walk.base_url, num_envs=2, wire=wire)) as env:
        env.reset(seed=1)
        env.step_async(np.ones(2, np.int64))
        assert loan_of(env).is_lent
        child = os.fork()
        if child == 0:
            code = 1
            try:
                loan_of(env).read_now()
                with pytest.raises(errors.SessionLost):
                    env.step(np.ones(2, np.int64))
                env.reset(seed=1)
                env.step(np.ones(2, np.int64))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        env.step_wait()
        env.step(np.ones(2, np.int64))


@pytest.mark.parametrize("how", ["cut", "cut_client_sides"])
@pytest.mark.usefixtures("patient")
def test_a_link_whose_connection_breaks_under_the_caller_is_resumed(how: str) -> None:
    with (
        running_server("tests.support.apps.recorded:app") as server,
        broken_network(server.base_url) as network,
        closing(RemoteVectorEnv(network.base_url, num_envs=2)) as env,
    ):
        env.reset(seed=[14, 14])
        for count in range(1, 6):
            action = {"number": np.array([count, 100 + count]), "seconds": np.zeros(2, np.float32)}
            env.send(action)
            assert loan_of(env).is_lent
            getattr(network, how)()
            assert env.recv(2)[1]["count"].ravel().tolist() == [count, count]


@pytest.mark.usefixtures("patient")
def test_deadlines_are_kept_while_nobody_waits(serve: Callable[[Script], str], wire: Wire) -> None:
    given_up = threading.Event()

    async def script(scripted: Scripted) -> None:
        await scripted.answer(await scripted.receive(), 1)
        await scripted.receive()
        with suppress(ConnectionClosed):  # on the standard wire; on the other the step is cancelled
            await scripted.receive()
        given_up.set()

    with closing(RemoteVectorEnv(serve(script), num_envs=1, wire=wire, timeouts={"step": 0.3})) as env:
        env.reset()
        env.send([0])
        assert loan_of(env).is_lent
        assert given_up.wait(PATIENCE), "nobody waited, and the step was given up all the same"
        with pytest.raises(errors.ReplyTimeout):
            env.recv()


def test_a_wait_that_times_out_leaves_the_step_running(faulty: RunningServer, wire: Wire) -> None:
    with closing(RemoteVectorEnv(faulty.base_url, num_envs=2, wire=wire)) as env:
        env.reset()
        env.send(orders("fine", "hang"))
        assert env.recv(1)[0].tolist() == [0]
        for timeout in (0.0, 0.01, 0.2):
            with pytest.raises(WaitTimeout, match="still under way"):
                env.recv(1, timeout=timeout)
        env.send({key: value[:1] for key, value in orders("fine").items()}, [0])
        assert env.recv(1)[1].tolist() == [[2.0]]


def test_what_came_meanwhile_is_taken_with_what_was_waited_for(walk: RunningServer, wire: Wire) -> None:
    with closing(RemoteVectorEnv(walk.base_url, num_envs=4, wire=wire)) as env:
        env.reset(seed=1)
        env.send(np.ones(4, np.int64))
        assert env.recv(4)[0].tolist() == [0, 1, 2, 3]
        env.send(np.ones(2, np.int64), [0, 2])
        env.send(np.ones(2, np.int64), [1, 3])
        received: list[int] = []
        while len(received) < 4:
            received += env.recv(1)[0].tolist()
        assert sorted(received) == [0, 1, 2, 3]


def test_connections_that_cannot_be_lent_stay_with_the_event_loop(
    walk: RunningServer, monkeypatch: pytest.MonkeyPatch, wire: Wire
) -> None:
    monkeypatch.setattr(WebSocketConnection, "can_be_lent", False)
    with closing(RemoteVectorEnv(walk.base_url, num_envs=2, wire=wire)) as env:
        env.reset(seed=1)
        for _ in range(3):
            env.step(np.ones(2, np.int64))
            assert not loan_of(env).is_lent
