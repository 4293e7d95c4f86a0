"""The server's log: text for people, or one JSON object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any, Literal

_ROOT = "openenv_gym_server"
_EXTRAS = ("session_id", "error_id", "operation")


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
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry)


def configure(log_format: Literal["text", "json"]) -> None:
    """Lets the server's log be seen, unless the process has arranged for logs itself."""
    logger = logging.getLogger(_ROOT)
    if logger.handlers or (logging.getLogger().handlers and log_format == "text"):
        return
    handler = logging.StreamHandler()
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if log_format == "json" else text)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
