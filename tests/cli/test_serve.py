from __future__ import annotations

import json
import signal
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path

import gymnasium
import psutil
import pytest
from openenv_gym_cli.scaffold import make_project, new_project

from tests.support.command import invoked, openenv, running_openenv
from tests.support.pools import eventually, has_ended

BUNDLED = Path(__file__).parents[2] / "envs"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(new_project("walk", "typed", tmp_path / "walk"))


def status(url: str, token: str | None = None) -> int:
    """The HTTP status of a GET."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def told_of_moves(base_url: str) -> str | None:
    """What the server says that a move is; None while none answers."""
    try:
        with urllib.request.urlopen(f"{base_url}/schema", timeout=10) as response:
            return str(json.load(response)["action"]["properties"]["direction"]["description"])
    except OSError:
        return None


def test_it_prints_the_address_and_the_line_alone(tmp_path: Path) -> None:
    with running_openenv("serve", "--port", "0", folder=tmp_path, cwd=BUNDLED / "blackjack") as serving:
        base_url, line = serving.line(), serving.line()
        assert line == f'gymnasium.make("openenv_gym:openenv/Remote-v0", base_url="{base_url}")'
        assert status(f"{base_url}/metadata") == 200
        assert serving.end() == 130
        assert serving.line() == ""


def test_a_token_is_asked_for_and_named_in_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("serve", BUNDLED / "blackjack", "--port", "0", "--token", "env:MINE")
    with running_openenv(*arguments, folder=tmp_path, env={"MINE": "t0ken"}) as serving:
        base_url, line = serving.line(), serving.line()
        assert (status(f"{base_url}/metadata"), status(f"{base_url}/metadata", "t0ken")) == (401, 200)
        monkeypatch.setenv("OPENENV_GYM_TOKEN", "t0ken")
        env = eval(line, {"gymnasium": gymnasium})
        env.reset(seed=1)
        env.close()
        assert "t0ken" not in line + serving.errors()


def test_a_token_of_the_environment_counts(tmp_path: Path) -> None:
    arguments = ("serve", BUNDLED / "blackjack", "--port", "0")
    with running_openenv(*arguments, folder=tmp_path, env={"OPENENV_GYM_TOKEN": "t0ken"}) as serving:
        assert status(f"{serving.line()}/metadata") == 401


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_the_command(tmp_path: Path, number: int) -> None:
    if number == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux tells a child of its parent's end")
    with running_openenv("serve", BUNDLED / "blackjack", "--port", "0", folder=tmp_path) as serving:
        assert serving.line()
        (server,) = psutil.Process(serving.process.pid).children()
        serving.end(number)
        assert eventually(lambda: has_ended(server))


def test_a_change_starts_the_server_anew(project: Path, tmp_path: Path) -> None:
    with running_openenv("serve", project, "--port", "0", "--reload", folder=tmp_path) as serving:
        base_url = serving.line()
        assert told_of_moves(base_url) == "0: left, 1: right"
        models = project / "walk_env" / "models.py"
        text = models.read_text(encoding="utf-8")
        # Again and again until it is seen: the watch begins some time after the server is ready.
        for count in range(20):
            models.write_text(text.replace("0: left", f"0: west {count}"), encoding="utf-8")
            if eventually(lambda: (told_of_moves(base_url) or "").startswith("0: west"), within=3):
                break
        assert (told_of_moves(base_url) or "").startswith("0: west"), serving.errors()


def test_a_change_that_breaks_the_server_is_said_and_the_next_one_mends_it(project: Path, tmp_path: Path) -> None:
    with running_openenv("serve", project, "--port", "0", "--reload", folder=tmp_path) as serving:
        base_url = serving.line()
        models = project / "walk_env" / "models.py"
        text = models.read_text(encoding="utf-8")
        for count in range(20):
            models.write_text(f"import no_such_module_{count}\n", encoding="utf-8")
            if eventually(lambda: "The next change starts it again." in serving.errors(), within=3):
                break
        models.write_text(text.replace("0: left", "0: west"), encoding="utf-8")
        assert eventually(lambda: told_of_moves(base_url) == "0: west, 1: right"), serving.errors()


def test_a_server_that_does_not_start_is_said_so_with_what_to_install(project: Path) -> None:
    (project / "walk_env" / "environment.py").write_text("import no_such_module\n", encoding="utf-8")
    run = openenv("serve", project, "--port", "0")
    assert (run.returncode, run.stdout) == (1, "")
    assert "No module named 'no_such_module'" in run.stderr
    assert "-m pip install 'openenv-gym[server]>=0.1'" in run.stderr.splitlines()[-1]


def test_a_public_address_without_a_token_is_refused() -> None:
    run = invoked("serve", BUNDLED / "echo", "--host", "0.0.0.0", "--port", "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert "everybody could drive the environment" in run.stderr
    assert "--insecure" in run.stderr


def test_a_public_address_is_served_to_who_insists(tmp_path: Path) -> None:
    arguments = ("serve", BUNDLED / "echo", "--host", "0.0.0.0", "--port", "0", "--insecure")
    with running_openenv(*arguments, folder=tmp_path) as serving:
        base_url = serving.line()
        assert base_url.startswith("http://127.0.0.1:")
        assert status(f"{base_url}/health") == 200


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = invoked("serve", BUNDLED / "echo", "--port", str(taken.getsockname()[1]))
    assert (run.returncode, run.stdout) == (2, "")
    assert "Address already in use" in run.stderr
    assert "--port 0" in run.stderr


def test_the_port_of_the_manifest_is_the_default(project: Path) -> None:
    manifest = project / "openenv.yaml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = manifest.read_text(encoding="utf-8").replace("port: 8000", f"port: {port}")
        manifest.write_text(text, encoding="utf-8")
        run = invoked("serve", project)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"Nothing can listen at 127.0.0.1 port {port}" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--host", "no.such.host.invalid", "--token", "x"), "Nothing can listen at no.such.host.invalid"),
        (("--token", "env:NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
        (("--token", "two\nlines"), "HTTP header"),
        (("--reload", "--workers", "2"), "one worker only"),
        (("--port", "70000"), "--port"),
    ],
)
def test_wrong_input_is_refused_before_anything_starts(arguments: tuple[str, ...], told: str) -> None:
    run = invoked("serve", BUNDLED / "echo", *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_a_folder_without_a_project_names_the_nearest(project: Path) -> None:
    run = openenv("serve", cwd=project.parent)
    assert run.returncode == 2
    assert "openenv.yaml is in ./walk." in run.stderr


def test_several_workers_share_the_port(tmp_path: Path) -> None:
    arguments = ("serve", BUNDLED / "blackjack", "--port", "0", "--workers", "2")
    with running_openenv(*arguments, folder=tmp_path) as serving:
        assert status(f"{serving.line()}/metadata") == 200, serving.errors()
        env = eval(serving.line(), {"gymnasium": gymnasium})
        env.reset(seed=1)
        env.step(0)
        env.close()
