"""Programs of another interpreter, each in a fork of a process of its that has imported openenv already."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "interop" / "programs" / "warm.py"


class WarmInterpreter:
    """An interpreter that has imported openenv.

    Args:
        python: Its executable.
    """

    def __init__(self, python: str) -> None:
        command = [python, "-W", "ignore", str(PROGRAM)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROGRAM.parent,
            start_new_session=True,  # so that what it has forked ends with it
        )
        self._lock = threading.Lock()
        atexit.register(self.close)

    def run(self, program: Path, arguments: Sequence[str], timeout: float) -> tuple[int, str, str]:
        """Runs a program to its end.

        Returns:
            Its exit code, and what it wrote to its standard output and standard error.

        Raises:
            TimeoutError: It takes longer, and is ended; whoever comes next gets another interpreter.
        """
        assert self._process.stdin is not None
        with self._lock, tempfile.NamedTemporaryFile("r+") as stdout, tempfile.NamedTemporaryFile("r+") as stderr:
            asked = {"program": str(program), "arguments": [*arguments], "stdout": stdout.name, "stderr": stderr.name}
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            exit_code = self._answer(timeout)
            return exit_code, stdout.read(), stderr.read()

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _answer(self, timeout: float) -> int:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout):
                self.close()
                warm.cache_clear()
                raise TimeoutError(f"A program of {self._process.args!r} did not end within {timeout:g} s.")
        return int(json.loads(self._process.stdout.readline() or "-1"))


@cache
def warm(python: str) -> WarmInterpreter:
    """The one of an executable, which lives as long as this process."""
    return WarmInterpreter(python)
