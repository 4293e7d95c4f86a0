from __future__ import annotations

import json
import logging
import sys

from openenv_gym_server.logs import JsonFormatter

from tests.support.servers import running_server
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
