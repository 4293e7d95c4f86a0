"""A session's interpreter, which is there again after whatever the code does to it."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from coding_env.processes import Ended, Garbled, Lost, Process, TimedOut
from coding_env.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a block of code came to.

    Attributes:
        stdout: What it wrote, as much as is kept.
        stderr: The same, its traceback, and what became of the interpreter.
        exit_code: 0 to 255.
        is_restarted: The interpreter was started anew: all variables, files and processes are gone.
        stdout_cut: Not all of what it wrote to standard output is there.
        stderr_cut: The same of standard error.
    """

    stdout: str
    stderr: str
    exit_code: int
    is_restarted: bool
    stdout_cut: bool
    stderr_cut: bool


class Interpreter:
    """Runs blocks of code one after another in one process, and in a new one where that is lost.

    Args:
        sandbox: Where.
        seed: Of its module ``random``.

    Attributes:
        restarts: How often it was started anew.

    Raises:
        ExecutionError: It could not be started.
    """

    def __init__(self, sandbox: Sandbox, seed: int) -> None:
        self._sandbox = sandbox
        self._seed = seed
        self.restarts = 0
        self._process: Process | None = sandbox.start(seed)

    def run(self, code: str, seconds: float) -> Outcome:
        """Runs a block of code.

        Args:
            code: Python.
            seconds: How long it may take.

        Raises:
            ExecutionError: The interpreter was lost and could not be started anew.
        """
        process = self._process or self._started()
        try:
            reply = process.ask({"do": "run", "code": code}, time.monotonic() + seconds)
            exit_code = reply.get("exit_code")
            if not isinstance(exit_code, int) or not 0 <= exit_code <= 255:
                raise Garbled
            return _outcome(process, exit_code)
        except Lost as lost:
            self.close()
            outcome = _outcome(process, lost.exit_code, _told(lost, seconds))
            self.restarts += 1
            self._started()
            return outcome

    def close(self) -> None:
        """Ends the process and all that it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _started(self) -> Process:
        self._process = self._sandbox.start(self._seed + self.restarts)
        return self._process


def _outcome(process: Process, exit_code: int, told: str = "") -> Outcome:
    cuts = process.stdout.is_cut, process.stderr.is_cut
    stdout, stderr = process.stdout.take(), process.stderr.take()
    if told:
        lines = f"{told} A new one was started: its variables, files and processes are gone.]\n"
        stderr = f"{stderr}\n[{lines}" if stderr and not stderr.endswith("\n") else f"{stderr}[{lines}"
    return Outcome(
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        is_restarted=bool(told),
        stdout_cut=cuts[0],
        stderr_cut=cuts[1],
    )


def _told(lost: Lost, seconds: float) -> str:
    match lost:
        case TimedOut():
            return f"The code ran for longer than {seconds:g} s, and its interpreter was stopped."
        case Ended(exit_code=code) if code > 128:
            return f"The interpreter was ended by {_signal(code - 128)}."
        case Ended(exit_code=code):
            return f"The code ended its interpreter, with exit code {code}."
    return "The code wrote to the interpreter's control channel or closed it, and the interpreter was stopped."


def _signal(number: int) -> str:
    if number == signal.SIGKILL:
        return "SIGKILL, as the system does where too much memory or CPU time was used"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
