"""A local HTTP server that answers chat completions as OpenAI-compatible servers do, or as a test has it fail."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.loopback import served

PATIENCE = 30.0
"""Seconds after which something that should have happened is taken as not happening."""


class Asked:
    """One request, and how it is answered."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self._handler = handler
        self.path = handler.path
        self.headers = dict(handler.headers)
        self.body: dict[str, Any] = json.loads(body)

    @property
    def prompt(self) -> str:
        """What the user said."""
        text: str = self.body["messages"][-1]["content"]
        return text

    def say(self, content: Any, **choice: Any) -> None:
        """Answers with a completion."""
        message = {"role": "assistant", "content": content}
        self.send(200, completion({"index": 0, "message": message, "finish_reason": "stop", **choice}))

    def send(self, status: int, body: Any, **headers: str) -> None:
        """Answers with anything: text as it is, everything else as JSON."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self._handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.send_header("Content-Length", str(len(data)))
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def stream(self, parts: Iterator[bytes], pause: float = 0.0) -> None:
        """Answers without a length, part by part, until the client has had enough."""
        self._handler.send_response(200)
        self._handler.send_header("Connection", "close")
        self._handler.end_headers()
        for part in parts:
            self._handler.wfile.write(part)
            time.sleep(pause)

    def hang_up(self) -> None:
        """Ends the connection without a word."""
        self._handler.close_connection = True


def completion(choice: dict[str, Any]) -> dict[str, Any]:
    """The body around a choice."""
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "choices": [choice], "usage": usage}


class JudgeEndpoint:
    """The running server.

    Attributes:
        url: Its address, without a path.
        asked: The requests so far.
    """

    def __init__(self, answer: Callable[[Asked], None]) -> None:
        self.asked: list[Asked] = []
        self._changed = threading.Condition()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = Asked(self, self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint._changed:
                    endpoint.asked.append(asked)
                    endpoint._changed.notify_all()
                try:
                    answer(asked)
                except ConnectionError:
                    self.close_connection = True  # the client had enough

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def wait_for(self, count: int) -> None:
        """Waits until as many requests came."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.asked) >= count, PATIENCE), "they never came"


@contextmanager
def judge_endpoint(answer: Callable[[Asked], None] | str = "Score: 0.8") -> Iterator[JudgeEndpoint]:
    """Runs an endpoint until the block ends.

    Args:
        answer: Answers a request; a text is said to all.
    """
    endpoint = JudgeEndpoint((lambda asked: asked.say(answer)) if isinstance(answer, str) else answer)
    with served(endpoint.server):
        yield endpoint
