from __future__ import annotations

import json
import logging
import sys

from openenv_gym_server.logs import JsonFormatter

from tests.support.http import http_client
from tests.support.servers import running_server
from tests.support.serving import serving
from tests.support.sockets import frame_socket


def test_a_record_is_one_line_of_json() -> None:
    try:
        raise RuntimeError("boom")
    except RuntimeError:
        record = logging.LogRecord("a.b", logging.ERROR, "f.py", 1, "it %s", ("failed",), sys.exc_info())
    record.session_id = "s"
    line = JsonFormatter().format(record)
    entry = json.loads(line)
    assert "\n" not in line
    assert (entry["level"], entry["logger"], entry["message"], entry["session_id"]) == (
        "ERROR",
        "a.b",
        "it failed",
        "s",
    )
    assert "RuntimeError: boom" in entry["traceback"]


def test_a_server_writes_json_when_asked() -> None:
    with (
        running_server("tests.support.apps.misbehaving:app", env={"OPENENV_GYM_LOG_FORMAT": "json"}) as server,
        frame_socket(server.ws_url) as socket,
    ):
        socket.reset()
        message = socket.step(do="raise")["message"]
        entries = [json.loads(line) for line in server.log().splitlines() if line.startswith('{"time"')]
    failed = next(entry for entry in entries if entry.get("operation") == "step")
    assert failed["error_id"] in message
    assert "RuntimeError: boom" in failed["traceback"]


def test_a_json_log_tells_whose_request_a_line_is_about() -> None:
    settings = {"OPENENV_GYM_LOG_FORMAT": "json", "OPENENV_GYM_TOKEN": "a-secret-of-the-test"}
    with serving(app="tests.support.apps.counting:app", env=settings) as server:
        with http_client(server, x_request_id="rollout-7") as client:
            assert client.get("/schema").status_code == 401
        entries = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    refused = next(entry for entry in entries if entry["message"].startswith("A request is refused"))
    assert (refused["request_id"], refused["peer"]) == ("rollout-7", "127.0.0.1")
    assert [entry["message"] for entry in entries if entry["logger"] == "uvicorn.access"]
