from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import websockets
from openenv_gym_protocol.errors import ConfigurationError, ServerStartError, UnknownOption

from openenv_gym.providers.base import OwnedServer, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.process import ProcessProvider
from openenv_gym.providers.watchdog_client import WatchdogClient
from openenv_gym.testing.provider_contract import ProviderContract
from tests.support.pools import PROJECTS, all_end, eventually, fetch, request_for


class TestProcessProvider(ProviderContract):
    give_up_seconds = 5.0

    @pytest.fixture(autouse=True)
    def _watchdog_runs(self) -> Iterator[None]:
        # How long it takes to start counts too, and on a machine that has much to do that is long.
        client = WatchdogClient.connect(Deadline(60))
        yield
        client.close()

    def provider(self) -> ProcessProvider:
        return ProcessProvider()

    def request(self) -> ServerRequest:
        return request_for("plain")

    def request_that_dies(self) -> ServerRequest:
        return request_for("dying")

    def request_that_never_answers(self) -> ServerRequest:
        return request_for("plain", PLAIN_HEALTH="503")


def started(request: ServerRequest) -> OwnedServer:
    return ProcessProvider().start(request, Deadline(30))


def test_the_server_runs_in_the_projects_folder_under_this_interpreter() -> None:
    server = started(request_for("plain"))
    assert fetch(server.base_url, "/python") == {"executable": sys.executable, "cwd": str(PROJECTS / "plain")}


def test_scopes_name_both_ends_of_the_connection() -> None:
    server = started(request_for("plain"))
    scope = fetch(server.base_url, "/scope")
    assert scope["server"] == ["127.0.0.1", urlsplit(server.base_url).port]
    assert scope["client"][0] == "127.0.0.1"


def test_websockets_are_served_without_compression() -> None:
    server = started(request_for("plain"))

    async def echo() -> tuple[str | bytes, int]:
        async with websockets.connect(server.base_url.replace("http", "ws") + "/ws") as connection:
            await connection.send("hello")
            return await connection.recv(), len(connection.protocol.extensions)

    assert asyncio.run(echo()) == ("hello", 0)


def test_frames_above_uvicorns_own_limit_are_taken() -> None:
    server = started(request_for("plain"))
    frame = "x" * (17 * 1024 * 1024)

    async def echo() -> str | bytes:
        url = server.base_url.replace("http", "ws") + "/ws"
        async with websockets.connect(url, max_size=None) as connection:
            await connection.send(frame)
            return await connection.recv()

    assert asyncio.run(echo()) == frame


def test_answers_are_not_held_back_for_delayed_acknowledgements() -> None:
    server = started(request_for("plain"))
    # Accepted connections inherit it from the listening socket.
    assert fetch(server.base_url, "/listeners") == [{"address": "127.0.0.1", "nodelay": True}]


def test_a_killed_server_refuses_connections_at_once() -> None:
    server = started(request_for("plain"))
    process = psutil.Process(fetch(server.base_url, "/scope")["pid"])
    process.kill()
    assert server.owner.exit_code(30.0) == -signal.SIGKILL
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port or 0), timeout=5)


def test_the_token_is_in_the_environment_and_not_in_the_command() -> None:
    server = started(request_for("plain"))
    process = psutil.Process(fetch(server.base_url, "/scope")["pid"])
    assert server.token
    assert fetch(server.base_url, "/environ")["OPENENV_GYM_TOKEN"] == server.token
    assert not any(server.token in word for word in process.cmdline())
    assert server.token not in repr(server)


def test_each_server_has_a_token_of_its_own() -> None:
    assert started(request_for("plain")).token != started(request_for("plain")).token


def test_settings_reach_the_server_and_the_trainers_secrets_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("SOME_PATH", "kept")
    environ = fetch(started(request_for("plain", OPENAI_API_KEY="given", MY_SETTING="1")).base_url, "/environ")
    assert "HF_TOKEN" not in environ
    assert "OPENENV_GYM_POOL" not in environ
    assert (environ["OPENAI_API_KEY"], environ["MY_SETTING"], environ["SOME_PATH"]) == ("given", "1", "kept")


@pytest.mark.parametrize("where", ["group", "session"])
def test_what_the_server_started_ends_with_it_in_whatever_session_it_is(where: str) -> None:
    server = started(request_for("plain", PLAIN_CHILD=where))
    process = psutil.Process(fetch(server.base_url, "/scope")["pid"])
    children = process.children()
    assert len(children) == 1
    server.stop()
    assert all_end([process, *children])


def test_a_virtual_environment_names_the_interpreter(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    interpreter = tmp_path / "env" / "bin" / "python"
    # Nothing is installed there: what lacks is said with that interpreter's name, so it is the one that ran.
    with pytest.raises(ServerStartError) as caught:
        started(request_for("plain", options={"venv": str(tmp_path / "env")}))
    assert f"{interpreter} -m pip install 'uvicorn[standard]'" in caught.value.message
    assert caught.value.__cause__ is None  # its message is told once


def test_an_interpreter_may_be_named_by_its_path() -> None:
    server = started(request_for("plain", options={"python": sys.executable}))
    assert fetch(server.base_url, "/python")["executable"] == sys.executable


def test_a_missing_dependency_is_told_with_the_command_that_installs_it() -> None:
    with pytest.raises(ServerStartError) as caught:
        started(request_for("without_dependency"))
    expected = f"{sys.executable} -m pip install 'chess-rules-nobody-has>=2' 'openenv-gym[server]'"
    assert expected in caught.value.message
    assert caught.value.exit_code == 1


def test_a_dead_servers_error_has_the_last_hundred_lines_and_the_exit_code() -> None:
    with pytest.raises(ServerStartError) as caught:
        started(request_for("dying"))
    lines = caught.value.logs.splitlines()
    assert caught.value.exit_code == 7
    assert (len(lines), lines[0], lines[-1]) == (100, "line 201", "last words")


@pytest.mark.parametrize(
    ("project", "named"), [("nowhere", "nowhere"), ("no_app", "server/app.py"), ("bad_manifest", "openenv.yaml")]
)
def test_a_folder_without_a_project_is_refused_before_anything_starts(project: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        ProcessProvider().check(request_for(project))


def test_a_request_without_a_path_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="path="):
        ProcessProvider().check(ServerRequest())


@pytest.mark.parametrize("option", ["python", "venv"])
def test_an_interpreter_that_does_not_exist_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match="/nowhere"):
        ProcessProvider().check(request_for("plain", options={option: "/nowhere"}))


@pytest.mark.parametrize("seconds", [0, -3])
def test_a_start_without_time_is_refused_by_its_name(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="start_timeout"):
        ProcessProvider().check(request_for("plain", options={"start_timeout": seconds}))


def test_two_interpreters_are_a_contradiction() -> None:
    with pytest.raises(ConfigurationError, match="venv="):
        ProcessProvider().check(request_for("plain", options={"python": sys.executable, "venv": sys.prefix}))


def test_an_option_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="start_timeout"):
        ProcessProvider().check(request_for("plain", options={"start_timeout": "soon"}))


def test_an_unknown_option_is_a_type_error_in_pythons_words() -> None:
    with pytest.raises(UnknownOption, match="got an unexpected keyword argument 'pyhton'") as caught:
        ProcessProvider().check(request_for("plain", options={"pyhton": "x"}))
    assert isinstance(caught.value, TypeError)
    assert "'python'" in caught.value.message


def test_a_project_of_the_same_module_names_elsewhere_is_not_served_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "server"
    shutil.copytree(PROJECTS / "dying" / "server", other)
    (other / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(other.parent), prepend=os.pathsep)
    server = started(request_for("plain"))
    assert eventually(lambda: "plain server starts" in server.logs())


def test_the_bundled_echo_project_answers() -> None:
    server = started(ServerRequest(path=str(Path(__file__).parents[2] / "envs" / "echo")))
    request = urllib.request.Request(f"{server.base_url}/metadata", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        fetch(server.base_url, "/metadata")
