"""A confined interpreter as the server sees it: a process, its control channel, and what it writes, within bounds."""

from __future__ import annotations

import codecs
import json
import os
import secrets
import select
import socket
import subprocess
import time
from contextlib import suppress
from typing import Any, ClassVar

from coding_env.inside.confine import slay_descendants

_MAX_REPLY = 1 << 20
_CHUNK = 1 << 16
_DRAINED = 1 << 20
"""What a pipe can hold at most."""

_END_SECONDS = 5.0
"""How long a process may take to end after its channel has: then it is killed."""

CUT = "\n[The rest of the output was cut off.]\n"


class Lost(Exception):
    """The interpreter answers no more.

    Attributes:
        exit_code: What stands for it: a program's own, 128 and the signal's number, 124 or 125.
    """

    exit_code: int


class TimedOut(Lost):
    """It did not answer in time."""

    exit_code = 124


class Garbled(Lost):
    """What came on its channel was no answer of its, or its channel has ended and it has not."""

    exit_code = 125


class Ended(Lost):
    """The process has ended."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


class Output:
    """What is kept of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.is_cut = False

    def feed(self, chunk: bytes) -> None:
        """Keeps what there is room for."""
        room = self._limit - len(self._kept)
        self._kept += chunk[:room]
        self.is_cut |= len(chunk) > room

    def take(self) -> str:
        """The text, and nothing of it is kept; bytes that are no UTF-8 become replacement characters."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._kept), final=not self.is_cut)
        self._kept.clear()
        cut, self.is_cut = self.is_cut, False
        return text + CUT if cut else text


class Process:
    """A process that was started with a control channel as its standard input.

    Args:
        command: Its command line.
        output_bytes: What is kept of each of its streams.
        work: Its folder, where it has one in the server's own file system, to be removed with it.
        owns_processes: Whether it adopts its orphans, and has no process namespace that ends with it.

    Raises:
        OSError: It could not be started.
    """

    _ENVIRON: ClassVar[dict[str, str]] = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
    }

    def __init__(self, command: list[str], *, output_bytes: int, work: str, owns_processes: bool) -> None:
        self._own_work = work if owns_processes else None
        self._owns_processes = owns_processes
        self._channel, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                command,
                stdin=other.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._ENVIRON | {"HOME": work, **({"TMPDIR": work} if owns_processes else {})},
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        self._channel.setblocking(False)  # noqa: FBT003
        self._buffer = bytearray()
        self.stdout, self.stderr = Output(output_bytes), Output(output_bytes)
        self._outputs: dict[int, Output] = {}
        for stream, output in ((self._process.stdout, self.stdout), (self._process.stderr, self.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._outputs[stream.fileno()] = output

    @property
    def pid(self) -> int:
        """The process that was started; what runs the code is it or one below it."""
        return self._process.pid

    def ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Sends a request and waits for its reply.

        Args:
            request: What to do.
            deadline: On the monotonic clock, in seconds.

        Raises:
            Lost: There is no reply, and there will be none.
        """
        id = secrets.token_hex(8)
        self.send({"id": id, **request}, deadline)
        return self.receive(id, deadline)

    def send(self, message: dict[str, Any], deadline: float) -> None:
        """Sends a message; as ``ask``."""
        body = json.dumps(message).encode()
        rest = memoryview(len(body).to_bytes(4, "big") + body)
        while rest:
            self._wait(select.POLLOUT, deadline)
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._loss() from error

    def receive(self, id: str, deadline: float) -> dict[str, Any]:
        """Waits for a message with an id; as ``ask``."""
        while (message := self._complete()) is None:
            self._wait(select.POLLIN, deadline)
            try:
                chunk = self._channel.recv(_CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._drain()
                raise self._loss()
            self._buffer += chunk
        self._drain()
        if message.get("id") != id or self._buffer:
            raise Garbled
        return message

    def kill(self) -> None:
        """Ends the process and all that it has started, and closes what belongs to it."""
        if self._owns_processes and self._process.poll() is None:
            slay_descendants(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._channel.close()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        if self._own_work is not None:
            _remove(self._own_work)

    def _complete(self) -> dict[str, Any] | None:
        if len(self._buffer) < 4:
            return None
        length = int.from_bytes(self._buffer[:4], "big")
        if length > _MAX_REPLY:
            raise Garbled
        if len(self._buffer) < 4 + length:
            return None
        body = bytes(self._buffer[4 : 4 + length])
        del self._buffer[: 4 + length]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Garbled from error
        if not isinstance(message, dict):
            raise Garbled
        return message

    def _wait(self, event: int, deadline: float) -> None:
        """Reads what is written until the channel is ready."""
        poller = select.poll()
        poller.register(self._channel, event)
        for descriptor in self._outputs:
            poller.register(descriptor, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            ready = dict(poller.poll(left * 1000))
            for descriptor in ready.keys() & self._outputs.keys():
                if not self._read(descriptor):
                    poller.unregister(descriptor)
            if self._channel.fileno() in ready:
                return

    def _read(self, descriptor: int) -> int:
        """Reads once; returns how much, and 0 at the stream's end or where there is nothing."""
        with suppress(BlockingIOError):
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                del self._outputs[descriptor]
            self._feed(descriptor, chunk)
            return len(chunk)
        return 0

    def _feed(self, descriptor: int, chunk: bytes) -> None:
        if output := self._outputs.get(descriptor):
            output.feed(chunk)

    def _drain(self) -> None:
        for descriptor in list(self._outputs):
            read = 0
            while read < _DRAINED and (some := self._read(descriptor)):
                read += some

    def _loss(self) -> Lost:
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return Garbled()  # only the channel has ended
        return Ended(code if code >= 0 else 128 - code)


def _remove(folder: str) -> None:
    # rm goes down further than Python's recursion does; what the code closed to its own user is opened before.
    for command in (["chmod", "-R", "u+rwX", "--", folder], ["rm", "-rf", "--", folder]):
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=60, check=False)
