from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from openenv_gym_protocol import errors
from openenv_gym_protocol.client_session import SessionState

from openenv_gym.client import EnvClient, GenericEnvClient, StepResult, SyncEnvClient
from tests.support.scripted_server import PATIENCE, ScriptedServer, Session, scripted_server

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")

Client = SyncEnvClient[Any, dict[str, Any], dict[str, Any]]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


def step(client: Client, number: int) -> int:
    """Steps with a number and returns the one that came back."""
    return int(client.step({"n": number}).observation["value"]["n"])


def test_methods_return_results(server: ScriptedServer) -> None:
    with GenericEnvClient(server.base_url).sync() as client:
        assert client.session_state is SessionState.READY
        assert client.reset(seed=1).observation["value"] == {"seed": 1}
        assert step(client, 2) == 2
        assert client.state() == {"episode_id": "e", "step_count": 0}
    assert [message["type"] for _, message in server.all_received()] == ["reset", "step", "state", "close"]


def test_closing_is_idempotent_and_final(server: ScriptedServer) -> None:
    client = GenericEnvClient(server.base_url).sync()
    client.connect()
    client.close()
    client.close()
    with pytest.raises(errors.ClientClosed):
        client.reset()


def test_eight_threads_on_one_client_each_get_their_own_replies(server: ScriptedServer) -> None:
    with GenericEnvClient(server.base_url).sync() as client:
        client.reset()

        def work(thread: int) -> list[int]:
            return [step(client, thread * 1000 + number) for number in range(100)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(work, range(8)))
    assert answers == [[thread * 1000 + number for number in range(100)] for thread in range(8)]
    assert server.sessions == 1


def test_it_works_inside_a_running_event_loop(server: ScriptedServer) -> None:
    async def main() -> int:
        with GenericEnvClient(server.base_url).sync() as client:
            client.reset()
            return step(client, 5)

    assert asyncio.run(main()) == 5


def test_both_faces_of_a_client_share_one_session(server: ScriptedServer) -> None:
    async_client = GenericEnvClient(server.base_url)
    with async_client.sync() as client:
        client.reset()
        assert asyncio.run(async_client.step({"n": 1})).observation["value"] == {"n": 1}
        assert client.async_client is async_client
    assert server.sessions == 1


def test_new_sessions_are_plain_too(server: ScriptedServer) -> None:
    with GenericEnvClient(server.base_url).sync() as first:
        second = first.new_session()
        assert isinstance(second, SyncEnvClient)
        assert step(second, 2) == 2
    with pytest.raises(errors.ClientClosed):
        second.reset()


def test_methods_that_a_class_adds_or_overrides_are_there_as_plain_ones(server: ScriptedServer) -> None:
    class Twice(EnvClient[dict[str, Any], dict[str, Any], dict[str, Any]]):
        label = "twice"

        async def step(self, action: dict[str, Any], *, timeout_s: float | None = None) -> StepResult[dict[str, Any]]:
            await super().step(action, timeout_s=timeout_s)
            return await super().step(action, timeout_s=timeout_s)

        async def three(self) -> int:
            for number in range(3):
                await self.step({"n": number})
            return 3

    with Twice(server.base_url).sync() as client:
        assert client.label == "twice"
        assert client.three() == 3
        with pytest.raises(AttributeError):
            _ = client.four
    assert sum(message["type"] == "step" for _, message in server.received) == 6


def test_an_interrupt_ends_the_wait_and_loses_the_session() -> None:
    async def script(session: Session) -> None:
        if session.number == 0:
            await session.receive()
            await session.socket.wait_closed()
        await session.echo()

    def interrupt(server: ScriptedServer) -> None:
        server.wait_until(lambda s: len(s.received) == 1)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with scripted_server(script) as server, GenericEnvClient(server.base_url).sync() as client:
        thread = threading.Thread(target=interrupt, args=(server,))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            client.step({"n": 1})
        thread.join(PATIENCE)
        with pytest.raises(errors.SessionLost):
            client.step({"n": 2})
        client.reset()
        assert step(client, 3) == 3


def test_it_would_not_block_the_thread_that_does_its_work(server: ScriptedServer) -> None:
    client = GenericEnvClient(server.base_url).sync()

    class Misled(GenericEnvClient):
        async def misled(self) -> None:
            client.reset()

    with pytest.raises(RuntimeError, match="await the async client"):
        Misled(server.base_url).sync().misled()
    client.close()


def test_a_forgotten_client_frees_its_session(server: ScriptedServer) -> None:
    client = GenericEnvClient(server.base_url).sync()
    client.reset()
    del client
    gc.collect()
    server.wait_until(lambda s: s.ended == 1)


def in_forked_child(work: Callable[[], object]) -> None:
    """Runs work in a forked child and fails when it raises there."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os.write(write_end, b"ok")
        except BaseException as error:
            os.write(write_end, repr(error).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    assert said == b"ok", said.decode()


def meet_a_lost_session(client: Client) -> None:
    assert client.session_state is SessionState.LOST
    with pytest.raises(errors.SessionLost, match="fork"):
        client.step({"n": 1})
    with pytest.raises(errors.SessionLost, match="fork"):
        client.connect()
    client.reset(seed=9)
    assert [step(client, number) for number in range(20)] == list(range(20))
    client.close()


def test_a_forked_child_meets_a_lost_session_and_resets_into_its_own(server: ScriptedServer) -> None:
    with GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        in_forked_child(lambda: meet_a_lost_session(client))
        assert [step(client, 100 + number) for number in range(20)] == [100 + number for number in range(20)]
    assert server.sessions == 2


def test_a_child_of_multiprocessing_meets_the_same(server: ScriptedServer) -> None:
    with GenericEnvClient(server.base_url).sync() as client:
        client.reset()
        child = multiprocessing.get_context("fork").Process(target=meet_a_lost_session, args=(client,))
        child.start()
        child.join(PATIENCE)
        assert child.exitcode == 0
        assert step(client, 1) == 1
    assert server.sessions == 2


def test_a_client_that_was_not_connected_before_the_fork_is_simply_the_childs(server: ScriptedServer) -> None:
    client = GenericEnvClient(server.base_url).sync()

    def use() -> None:
        client.reset()
        client.close()

    in_forked_child(use)
    client.reset()
    client.close()
    assert server.sessions == 2


def test_a_child_that_forgets_or_closes_its_copy_leaves_the_parents_session_alone(server: ScriptedServer) -> None:
    clients = [GenericEnvClient(server.base_url).sync() for _ in range(2)]
    for client in clients:
        client.reset()

    def forget() -> None:
        clients[0].close()
        clients.clear()
        gc.collect()

    in_forked_child(forget)
    assert [step(client, 1) for client in clients] == [1, 1]
    for client in clients:
        client.close()
    assert server.sessions == 2


PARENT = """
import os, signal, sys, time
from openenv_gym.client import GenericEnvClient

client = GenericEnvClient(sys.argv[1]).sync()
client.reset()
child = os.fork()
if child == 0:
    signal.pause()
print(child, flush=True)
signal.pause()
"""


def test_a_child_does_not_keep_the_session_of_a_parent_that_died(server: ScriptedServer) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, server.base_url], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        child = int(parent.stdout.readline())
        try:
            parent.kill()
            parent.wait(PATIENCE)
            server.wait_until(lambda s: s.ended == 1)
            os.kill(child, 0)  # it lives
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_notebook_uses_both_faces(server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real Jupyter kernel, whose cells run inside its event loop."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    sources = [
        "from openenv_gym.client import GenericEnvClient\n"
        f"client = GenericEnvClient({server.base_url!r})\n"
        "plain = client.sync()\n"
        "plain.reset(seed=1).observation['value']",
        "(await client.step({'n': 2})).observation['value']",
        "plain.step({'n': 3}).observation['value']",
        "await client.close()",
    ]
    empty: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [empty | {"source": source} for source in sources]
    content = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
    notebook = nbformat.from_dict(content)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    shown = [cell["outputs"][0]["data"]["text/plain"] for cell in notebook["cells"][:3]]
    assert shown == ["{'seed': 1}", "{'n': 2}", "{'n': 3}"]
    assert server.sessions == 1
