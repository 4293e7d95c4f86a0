"""The stand-in Hub: a local HTTP server that answers what huggingface_hub really asks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

# Imported for the routes that they register.
import tests.support.hub.commit
import tests.support.hub.files
import tests.support.hub.info
import tests.support.hub.settings  # noqa: F401
from tests.support.hub.routes import answer_of
from tests.support.hub.state import Answer, Asked, HubState
from tests.support.loopback import served


@contextmanager
def running_hub() -> Iterator[HubState]:
    """Serves a Hub without any Space on 127.0.0.1 until the block ends; its ``url`` is what ``HF_ENDPOINT`` takes."""
    hub = HubState()

    class Handler(_Handler):
        state = hub

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        hub.url = f"http://{address}"
        yield hub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: HubState
    timeout = 30

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def _answer(self) -> None:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        asked = Asked(self.command, unquote(url.path), parse_qs(url.query, keep_blank_values=True), headers, body)
        with self.state.lock:
            self.state.asked.append(asked)
            answer = answer_of(self.state, asked)
        if answer.status == 0:
            self.close_connection = True
            return
        self._send(_conditional(answer, asked))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(headers.get("content-length") or 0))

    def _send(self, answer: Answer) -> None:
        data = answer.data
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD" and answer.status != 304:
            self.wfile.write(data)


def _conditional(answer: Answer, asked: Asked) -> Answer:
    """Adds the ETag that the Hub's JSON has too, and says 304 to whoever has it already."""
    if answer.status != 200 or asked.method not in ("GET", "HEAD"):
        return answer
    etag = answer.headers.get("ETag") or f'W/"{hashlib.sha1(answer.data).hexdigest()}"'
    headers = {**answer.headers, "ETag": etag}
    if asked.headers.get("if-none-match") == etag:
        return Answer(304, b"", headers)
    return Answer(200, answer.body, headers)
