"""Runs inside: an interpreter that is told by its control channel what to run. A program without the package.

It is started with its plan as JSON (``coding_env.sandbox`` writes it), the channel as standard input, and the code's
own output as standard output and standard error. Messages are JSON after their length in four bytes. Every reply
repeats the id of its request: code may write to the channel whatever it likes, but nothing that is taken for another
request's reply.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import builtins
import fcntl
import io
import json
import linecache
import os
import random
import signal
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from coding_env.inside import confine, values
else:
    import confine
    import values

_MAX_REQUEST = 4 << 20


class ChannelClosed(Exception):
    """Nobody is there to answer."""


class Channel:
    """The two directions of the control channel."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def receive(self) -> Any:
        """The next message.

        Raises:
            ChannelClosed: There is none to come.
        """
        length = int.from_bytes(self._exactly(4), "big")
        if length > _MAX_REQUEST:
            raise ChannelClosed
        return json.loads(self._exactly(length))

    def send(self, message: dict[str, Any]) -> None:
        """Writes a message."""
        body = json.dumps(message).encode()
        rest = memoryview(len(body).to_bytes(4, "big") + body)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Leaves the channel to others."""
        os.close(self._descriptor)

    def _exactly(self, length: int) -> bytes:
        read = b""
        while len(read) < length:
            chunk = os.read(self._descriptor, length - len(read))
            if not chunk:
                raise ChannelClosed
            read += chunk
        return read


class Streams:
    """Standard output and standard error, whole again before every block of code, whatever the last one did."""

    def __init__(self) -> None:
        self._kept = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (1, 2)]
        self._opened: list[io.TextIOWrapper] = []

    def renew(self) -> None:
        """Opens both."""
        with open(os.devnull, "rb") as empty:
            os.dup2(empty.fileno(), 0)
        self._opened = []
        for number, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, number)
            raw = io.FileIO(number, "w", closefd=False)
            stream = io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=number == 2)
            self._opened.append(stream)
        sys.stdout, sys.stderr = self._opened
        sys.__stdout__, sys.__stderr__ = self._opened  # type: ignore[misc]
        sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))  # type: ignore[misc]

    def flush(self) -> None:
        """Writes out what is left, if that still goes."""
        for stream in self._opened:
            try:
                stream.flush()
            except Exception:  # closed by the code, or out of memory: what could not be written is the code's own loss
                continue


class Interpreter:
    """Variables that stay from one block of code to the next."""

    def __init__(self, seed: int) -> None:
        random.seed(seed)
        self._streams = Streams()
        self._main = ModuleType("__main__")
        self._main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self._main
        self._blocks = 0
        self._own, self._getpid, self._exit = os.getpid(), os.getpid, os._exit
        self._streams.renew()

    def run(self, code: str) -> int:
        """Runs a block of code; returns its exit code, as a program of its own would have it.

        A process that the code has forked and that comes to the end of the block ends there.
        """
        exit_code = self._executed(code)
        if self._getpid() != self._own:
            self._exit(exit_code)
        return exit_code

    def _executed(self, code: str) -> int:
        self._streams.renew()
        self._blocks += 1
        name = f"<block {self._blocks}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        try:
            exec(compile(code, name, "exec", dont_inherit=True), self._main.__dict__)
            return 0
        except SystemExit as ending:
            return _exit_code(ending.code)
        except BaseException as error:
            _tell(error)
            return 1
        finally:
            self._streams.flush()

    def call(self, name: str, arguments: str) -> dict[str, Any]:
        """Calls a function that a block of code has defined; returns its result, or its error, as plain data."""
        try:
            places, names = values.read(arguments)
            return {"value": values.write(self._main.__dict__[name](*places, **names))}
        except BaseException as error:
            kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
            return {"raised": kinds, "text": f"{type(error).__name__}: {_text(error)}"[:500]}


class Judge:
    """Runs tests of functions that are elsewhere, of which it sees plain data only."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def test(self, request: str, code: str, names: list[str]) -> dict[str, Any]:
        """Runs one test; it fails by any exception."""
        scope: dict[str, Any] = {"__builtins__": builtins, "__name__": "__test__", "raises": raises}
        scope |= {name: self._function(request, name) for name in names}
        try:
            exec(compile(code, "<test>", "exec", dont_inherit=True), scope)
        except BaseException as error:
            return {"passed": False, "why": f"{type(error).__name__}: {_text(error)}"[:500]}
        return {"passed": True}

    def _function(self, request: str, name: str) -> Any:
        def call(*places: Any, **names: Any) -> Any:
            self._channel.send({"id": request, "call": name, "arguments": values.write([list(places), names])})
            reply = self._channel.receive()
            if "value" in reply:
                return values.read(reply["value"])
            raise _raised(reply)

        return call


def raises(kind: type[BaseException], function: Any, *places: Any, **names: Any) -> bool:
    """For tests: whether a call raises an exception of a kind."""
    try:
        function(*places, **names)
    except kind:
        return True
    return False


class Failed(Exception):
    """An exception of the code's own kind, or its end."""


def _raised(reply: dict[str, Any]) -> BaseException:
    for name in reply.get("raised", ()):
        kind = getattr(builtins, str(name), None)
        # The end of an iteration would be taken for that of the test's own: all(map(function, values)) would be true.
        if kind is StopIteration or kind is StopAsyncIteration:
            break
        if isinstance(kind, type) and issubclass(kind, Exception) and kind is not Exception:
            try:
                return kind(reply.get("text"))
            except TypeError:  # some take more arguments
                continue
    return Failed(reply.get("text"))


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    _write_error(_text(code) + "\n")
    return 1


def _tell(error: BaseException) -> None:
    try:
        trace = error.__traceback__
        lines = traceback.format_exception(type(error), error, trace and trace.tb_next)  # without the line of this file
        _write_error("".join(lines))
    except BaseException:  # the code's own text of it may fail in any way
        _write_error(f"{type(error).__name__}\n")


def _write_error(text: str) -> None:
    try:
        sys.__stderr__.write(text)  # type: ignore[union-attr]
    except Exception:  # closed by the code: the exit code tells it
        return


def _text(value: object) -> str:
    try:
        return str(value)
    except BaseException:
        return f"<{type(value).__name__}>"


def _serve(channel: Channel, plan: dict[str, Any]) -> None:
    judge, interpreter = Judge(channel), Interpreter(plan["seed"])
    channel.send({"id": plan["id"]})
    while True:
        request = channel.receive()
        match request["do"]:
            case "run":
                reply: dict[str, Any] = {"exit_code": interpreter.run(request["code"])}
            case "call":
                reply = interpreter.call(request["name"], request["arguments"])
            case _:
                reply = judge.test(request["id"], request["code"], request["names"])
        channel.send({"id": request["id"], **reply})


def _supervise(worker: int, *, adopts: bool) -> NoReturn:
    """Waits for the end of the interpreter, and of whatever it leaves."""
    while True:
        process, status = os.wait()
        if process == worker:
            break
    if adopts:
        confine.slay_descendants(os.getpid())
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _end_all(*_: Any) -> NoReturn:
    confine.slay_descendants(os.getpid())
    os._exit(128 + signal.SIGTERM)


def main() -> None:
    """Gives up what the plan says, and runs what is asked for until the channel ends."""
    plan = json.loads(sys.argv[1])
    sys.argv = [""]
    del sys.path[0]  # the folder of these programs
    os.umask(0o022)
    kind, owns_processes = plan["kind"], plan["kind"] == "rlimits"
    channel = Channel(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3))
    if kind == "namespaces":
        confine.enter_root(plan)
        if plan["uid"] is None:
            confine.forbid_more_namespaces()
    if owns_processes:
        confine.adopt_orphans()
        signal.signal(signal.SIGTERM, _end_all)
        confine.die_with_parent(signal.SIGTERM)
    if kind != "bubblewrap":
        worker = os.fork()
        if worker:
            os.close(0)
            channel.close()
            _supervise(worker, adopts=owns_processes)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(plan["work"])
    confine.give_up_rights(plan["uid"], plan["limits"])
    confine.die_with_parent(signal.SIGKILL)
    if plan["is_judge"]:
        confine.hide_memory()
    confine.filter_calls(network=not owns_processes)
    try:
        _serve(channel, plan)
    except ChannelClosed:
        os._exit(0)
    except (OSError, ValueError):  # the code has closed the channel, or has read from it
        os._exit(125)


if __name__ == "__main__":
    main()
