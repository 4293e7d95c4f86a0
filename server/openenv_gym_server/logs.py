"""The server's log: text for people, or one JSON object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Literal

from openenv_gym_server.callers import CALLER

_ROOT = "openenv_gym_server"
_EXTRAS = ("session_id", "error_id", "operation")
_SERVERS_OWN = ("uvicorn", "uvicorn.access")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name in _EXTRAS if (value := getattr(record, name, None)) is not None}
        # A record is written where it is made, so that this is the request of which it tells.
        if (caller := CALLER.get()) is not None:
            entry |= {"request_id": caller.request_id, "peer": caller.peer}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def configure(log_format: Literal["text", "json"]) -> None:
    """Lets the server's log be seen, unless the process has arranged for logs itself."""
    if log_format == "json":
        for name in _SERVERS_OWN:
            for theirs in logging.getLogger(name).handlers:
                theirs.setFormatter(JsonFormatter())
    logger = logging.getLogger(_ROOT)
    if logger.handlers or (logging.getLogger().handlers and log_format == "text"):
        return
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if log_format == "json" else text)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
