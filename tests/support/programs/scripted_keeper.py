"""A keeper of nothing, run as a program: it notes what it is told, and answers as ``KEEPER`` in its environment says.

Arguments: the file for its notes, and the pool's directory, which the watchdog adds.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

ANSWERS: dict[str, dict[str, object]] = {
    "keep": {"event": "kept"},
    "stop": {"event": "exited", "exit_code": 0},
    "kill": {"event": "exited", "exit_code": 137},
}

LEAVING: dict[str, dict[str, object]] = {
    "keep": {"event": "kept", "found_by": "look for it"},
    "stop": {"event": "exited", "exit_code": 137, "is_left": True},
}


def main() -> None:
    """Answers until the watchdog's end."""
    watchdog, notes, manner = socket.socket(fileno=0), Path(sys.argv[1]), os.environ.get("KEEPER", "")
    is_deaf = manner == "is ever deaf" or (manner == "is deaf" and not notes.exists())
    if manner == "dies" or (manner == "dies again" and notes.exists()):
        raise SystemExit("no engine anywhere")
    with notes.open("a", encoding="utf-8") as out, watchdog.makefile("rb") as lines:
        if manner == "finds":
            watchdog.sendall(b'{"event": "found", "server_ids": ["of an earlier watchdog"]}\n')
        for line in lines:
            message = json.loads(line)
            out.write(json.dumps([os.getpid(), message]) + "\n")
            out.flush()
            if manner == "babbles" and message["event"] == "follow":
                watchdog.sendall(b"[]\n")
            answer = ANSWERS.get(message["event"])
            if manner == "leaves":
                answer = LEAVING.get(message["event"])
            if is_deaf and message["event"] != "keep":
                continue
            if answer is not None:
                watchdog.sendall(json.dumps({**answer, "server_id": message["server_id"]}).encode() + b"\n")
        out.write(json.dumps([os.getpid(), {"event": "the end"}]) + "\n")


if __name__ == "__main__":
    main()
