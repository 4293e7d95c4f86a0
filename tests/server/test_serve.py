from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.serve import check_application, is_loopback, main, serve

from tests.support.servers import ROOT
from tests.support.sockets import frame_socket

PATIENCE = 60.0


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """Runs ``python -m openenv_gym_server`` on a port that the kernel chooses; yields its address."""
    log = folder / "log"
    app = "tests.support.apps.misbehaving:app"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "openenv_gym_server",
                app,
                "--port",
                "0",
                *arguments,
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"http://\S+:\d+", log.read_text(encoding="utf-8"))):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < end
            time.sleep(0.05)
        yield found.group()
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("example.org", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_public_address_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENENV_GYM_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="OPENENV_GYM_TOKEN"):
        serve("tests.support.apps.counting:app", host="0.0.0.0", port=0)


def test_it_serves_without_compression_and_with_the_advertised_limit(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        assert httpx.get(f"{address}/health", trust_env=False).status_code == 200
        with frame_socket(address.replace("http", "ws") + "/ws") as socket:
            assert not socket.connection.protocol.extensions
            socket.reset()
            assert socket.ask({"type": "step", "data": {"text": "x" * 20_000_000}})["type"] == "observation"


def test_debug_sends_tracebacks(tmp_path: Path) -> None:
    with served(tmp_path, "--debug") as address, frame_socket(address.replace("http", "ws") + "/ws") as socket:
        socket.reset()
        assert "Traceback" in socket.step(do="raise")["message"]


def test_an_insecure_public_address_can_be_insisted_on(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0", "--insecure") as address:
        local = address.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}/health", trust_env=False).status_code == 200


def test_a_folder_without_a_project_is_refused_though_another_server_package_can_be_imported(tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "openenv_gym_server"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 2
    assert "environment project's folder" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_app_that_is_not_there_is_refused_with_the_file_it_should_be_in(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / "nowhere" / "app.py"))):
        check_application("nowhere.app:app", tmp_path)
    with pytest.raises(ConfigurationError, match="module:attribute"):
        check_application("nowhere.app", tmp_path)


@pytest.mark.parametrize("port", ["80720", "-1", "http"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--port", port])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err
