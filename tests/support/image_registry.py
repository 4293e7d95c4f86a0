"""A registry of images on 127.0.0.1, which takes what an engine pushes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import served

_BLOB = re.compile(r"/v2/(?P<name>.+)/blobs/(?P<digest>sha256:[0-9a-f]{64})")
_MANIFEST = re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")
_UPLOAD = re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<upload>[^/]*)")


class ImageRegistry:
    """What a registry holds.

    Attributes:
        host: Where it is: what an image's name begins with.
        blobs: Layers and configurations by digest.
        manifests: By ``name:tag`` and ``name@digest``.
        closed_to: Beginnings of the names that nobody may write to.
    """

    def __init__(self) -> None:
        self.host = ""
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}
        self.closed_to = "closed/"
        self.uploads: dict[str, bytes] = {}


@contextmanager
def image_registry() -> Iterator[ImageRegistry]:
    """Serves an empty registry until the block ends."""
    registry = ImageRegistry()

    class Handler(_Handler):
        state = registry

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as registry.host:
        yield registry


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: ImageRegistry
    timeout = 60

    def do_GET(self) -> None:
        self._say(200 if self.path == "/v2/" else self._there())

    def do_HEAD(self) -> None:
        self._say(self._there())

    def do_POST(self) -> None:
        match = _UPLOAD.fullmatch(urlsplit(self.path).path)
        self._body()
        if match is None or match["name"].startswith(self.state.closed_to):
            self._say(403, body=b'{"errors":[{"code":"DENIED","message":"requested access is denied"}]}')
            return
        upload = str(len(self.state.uploads))
        self.state.uploads[upload] = b""
        self._say(202, Location=f"/v2/{match['name']}/blobs/uploads/{upload}", Range="0-0")

    def do_PATCH(self) -> None:
        match = _UPLOAD.fullmatch(urlsplit(self.path).path)
        assert match is not None
        self.state.uploads[match["upload"]] += self._body()
        size = len(self.state.uploads[match["upload"]])
        self._say(202, Location=self.path, Range=f"0-{size - 1}")

    def do_PUT(self) -> None:
        url, body = urlsplit(self.path), self._body()
        upload, manifest = _UPLOAD.fullmatch(url.path), _MANIFEST.fullmatch(url.path)
        if upload is not None:
            content = self.state.uploads.pop(upload["upload"]) + body
            digest = parse_qs(url.query)["digest"][0]
            assert _digest(content) == digest
            self.state.blobs[digest] = content
        else:
            assert manifest is not None
            digest = _digest(body)
            self.state.manifests[f"{manifest['name']}:{manifest['reference']}"] = body
            self.state.manifests[f"{manifest['name']}@{digest}"] = body
        self._say(201, Location=url.path, Docker_Content_Digest=digest)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def _there(self) -> int:
        match = _BLOB.fullmatch(self.path)
        return 200 if match is not None and match["digest"] in self.state.blobs else 404

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _say(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
