from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_server.serve import check_application, main, serve

from tests.support.certificates import Certificates, certificates
from tests.support.servers import ROOT
from tests.support.serving import serving
from tests.support.sockets import frame_socket

PATIENCE = 60.0


def test_a_public_address_without_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENENV_GYM_TOKEN", raising=False)
    with pytest.raises(ConfigurationError, match="OPENENV_GYM_TOKEN"):
        serve("tests.support.apps.counting:app", host="0.0.0.0", port=0)


def test_it_serves_without_compression_and_with_the_advertised_limit() -> None:
    with serving() as server:
        assert httpx.get(f"{server.base_url}/health", trust_env=False).status_code == 200
        with frame_socket(server.ws_url) as socket:
            assert not socket.connection.protocol.extensions
            socket.reset()
            assert socket.ask({"type": "step", "data": {"text": "x" * 20_000_000}})["type"] == "observation"


def test_debug_sends_tracebacks() -> None:
    with serving("--debug") as server, frame_socket(server.ws_url) as socket:
        socket.reset()
        assert "Traceback" in socket.step(do="raise")["message"]


def test_a_request_that_hangs_does_not_hold_up_the_end() -> None:
    impatient = "from openenv_gym_server.serve import main, serve; serve.__globals__['_END_SECONDS'] = 1; main()"
    with (
        serving(program=("-c", impatient)) as server,
        httpx.Client(base_url=server.base_url, trust_env=False) as client,
        pytest.raises(httpx.ReadTimeout),
    ):
        client.post("/reset", json={"hang": True}, timeout=1.0)
    # The end of the server was waited for, which fails where it takes as long as a reset may.


def test_an_insecure_public_address_can_be_insisted_on() -> None:
    with serving("--host", "0.0.0.0", "--insecure") as server:
        local = server.base_url.replace("0.0.0.0", "127.0.0.1")
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
    assert f"{tmp_path / 'server' / 'app.py'} does not exist" in " ".join(refused.stderr.split())
    assert "environment project's folder" in refused.stderr
    assert "blackjack" not in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_app_that_is_not_there_is_refused_with_the_file_it_should_be_in(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / "nowhere" / "app.py"))):
        check_application("nowhere.app:app", tmp_path)
    with pytest.raises(ConfigurationError, match="module:attribute"):
        check_application("nowhere.app", tmp_path)


def test_connections_of_a_given_socket_send_without_delay() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "openenv_gym_server", "tests.support.apps.counting:app"),
                *("--fd", str(listener.fileno())),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
        try:
            port = listener.getsockname()[1]
            assert httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False, timeout=PATIENCE).status_code == 200
            assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.parametrize("port", ["80720", "-1", "http"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--port", port])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


def test_https_and_wss_are_served_with_a_certificate(files: Certificates) -> None:
    with serving("--tls-certificate", str(files.server), "--tls-key", str(files.server_key)) as server:
        assert server.base_url.startswith("https://")
        assert httpx.get(f"{server.base_url}/health", trust_env=False, verify=files.trust()).status_code == 200
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.base_url}/health", trust_env=False)
        with frame_socket(server.base_url.replace("https", "wss") + "/ws", ssl=files.trust()) as socket:
            assert socket.reset()["done"] is False


def test_clients_without_a_certificate_of_the_authority_are_not_let_in(files: Certificates) -> None:
    flags = ("--tls-certificate", str(files.server), "--tls-key", str(files.server_key))
    with serving(*flags, "--tls-client-authority", str(files.authority)) as server:
        known = files.trust()
        known.load_cert_chain(files.client, files.client_key)
        assert httpx.get(f"{server.base_url}/health", trust_env=False, verify=known).status_code == 200
        with pytest.raises((httpx.ReadError, httpx.ConnectError, httpx.RemoteProtocolError)):
            httpx.get(f"{server.base_url}/health", trust_env=False, verify=files.trust())


def test_a_certificate_that_is_not_there_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags in (["--tls-certificate", str(tmp_path / "no.pem")], ["--tls-key", "key.pem"]):
        with pytest.raises(SystemExit) as ended:
            main(["tests.support.apps.counting:app", "--port", "0", *flags])
        assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "no.pem" in told
    assert "--tls-certificate" in told
