"""A server that does as it is told: by its environment when it starts, later by programs that are posted to it.

``SERVER_EXIT``: it says its last words and ends with that exit code. ``SERVER_HEALTH``: the status of ``/health``.
``SERVER_PORT``: where it listens. A program posted to ``/run`` is run inside; what it leaves in ``result`` is the
answer, or the text of its exception.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers ``/health`` and runs what is posted."""

    def do_GET(self) -> None:
        """``/health``, whatever the path says."""
        self._answer(int(os.environ.get("SERVER_HEALTH", "200")), {"status": "told"})

    def do_POST(self) -> None:
        """Runs a program."""
        scope: dict[str, Any] = {"result": None}
        try:
            exec(self.rfile.read(int(self.headers["Content-Length"])), scope)
        except Exception as error:
            scope["result"] = f"{type(error).__name__}: {error}"
        self._answer(200, scope["result"])

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Dies or serves."""
    if "SERVER_EXIT" in os.environ:
        print("these are my last words", file=sys.stderr)
        sys.exit(int(os.environ["SERVER_EXIT"]))
    print("the server starts", flush=True)
    http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("SERVER_PORT", "8000"))), Handler).serve_forever()


if __name__ == "__main__":
    main()
