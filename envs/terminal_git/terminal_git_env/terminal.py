"""A shell on a pseudo-terminal of its own."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fcntl import ioctl

from terminal_git_env.places import Session
from terminal_git_env.sandbox import AGENT, Sandbox, SandboxFailed, start
from terminal_git_env.transcript import Transcript

_COLUMNS, _ROWS = 120, 40
_START_SECONDS = 20.0
_GRACE_SECONDS = 1.0
_BEGIN_SECONDS = 5.0
_TICK = 0.1

# The shell prints where a command ended before it asks for the next one: between two record separators a word that was
# drawn for this command, the exit code and the folder. What does not ask the shell for that word cannot print it; what
# does tells a lie about its own end, and of that nothing but what is shown depends.
_PROMPT = r"""
__terminal_prompt() {
    local status=$?
    builtin printf '\036%s\t%d\t%s\036' "$__terminal_word" "$status" "$PWD"
}
__terminal_status() { return "$1"; }
readonly -f __terminal_prompt __terminal_status
PROMPT_COMMAND=__terminal_prompt
readonly PROMPT_COMMAND
PS1= PS2=
set +o history
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a command.

    Attributes:
        output: What was printed since the last outcome.
        left_out: The bytes of it that are not shown.
        exit_code: How the command ended; None while it runs.
        timed_out: It was ended because it took too long.
        has_new_shell: The shell ended, and another one was started.
    """

    output: str
    left_out: int = 0
    exit_code: int | None = None
    timed_out: bool = False
    has_new_shell: bool = False


class Terminal:
    """One shell, started anew where it ends.

    Args:
        sandbox: What confines it.
        session: Whose it is.
        env: The shell's whole environment.
        limit: The most bytes of output that an outcome shows.

    Attributes:
        folder: Where the shell is; bytes that are no UTF-8 are in it as Python has them in paths.

    Raises:
        SandboxFailed: The shell could not be started.
    """

    def __init__(self, sandbox: Sandbox, session: Session, env: Mapping[str, str], limit: int) -> None:
        self._sandbox, self._session, self._env, self._limit = sandbox, session, dict(env), limit
        inside = sandbox.inside(session)
        self._home, self._commands = str(inside.work), inside.control / "command"
        self.folder = self._home
        session.tell("command", "")
        self._rc = str(inside.control / "shellrc")
        self._word, self._status = "", 0
        self._is_running = self._has_begun = False
        self._master = -1
        self._process: subprocess.Popen[bytes]
        self._start()

    @property
    def is_running(self) -> bool:
        """Whether a command has not ended."""
        return self._is_running

    def begin(self, command: str, dates: str) -> None:
        """Starts a command.

        Args:
            command: Lines for the shell.
            dates: What git takes for the present time.
        """
        self._session.tell("command", command + "\n")
        self._tidy()
        self._word = secrets.token_hex(16)
        self._is_running, self._has_begun = True, False
        self._type(
            f"__terminal_word={self._word}; builtin printf '\\036%s\\036' {self._word}; "
            f"export GIT_AUTHOR_DATE='{dates}' GIT_COMMITTER_DATE='{dates}'; "
            f"__terminal_status {self._status}; . {self._commands}\n".encode()
        )
        # Before that, an interrupt would reach nothing but the line that was typed.
        self._read(_BEGIN_SECONDS, until_begun=True)
        if not self._has_begun and self._is_alive:
            self._sandbox.end(self._session, self._process)  # it reads no commands, or prints nothing, any more

    def wait(self, seconds: float) -> Outcome:
        """Waits for the command's end; where that does not come, it goes on running."""
        self._read(seconds)
        return self._outcome()

    def wait_or_end(self, seconds: float) -> Outcome:
        """Waits for the command's end; where that does not come, ends it."""
        self._read(seconds)
        if not self._is_running or not self._is_alive:
            return self._outcome()
        self._interrupt()
        return self._outcome(timed_out=True)

    def write(self, text: str) -> None:
        """Types into the program that runs."""
        self._type(text.encode("utf-8", "replace"))

    def end(self) -> Outcome:
        """Ends the running command."""
        self._interrupt()
        return self._outcome()

    def close(self) -> None:
        """Ends the shell and everything it started."""
        self._sandbox.end(self._session, self._process)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _open(self) -> int:
        """Opens a pseudo-terminal; returns its other end."""
        self._master, slave = os.openpty()
        os.set_blocking(self._master, False)
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.ONLCR
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        self._modes, self._name = modes, os.ttyname(slave)
        return slave

    def _start(self) -> None:
        """Starts a shell on a new pseudo-terminal, and waits until it asks for a command."""
        slave = self._open()
        # A server in the background of a script ignores interrupts; its programs would too.
        shell = ["env", "--default-signal", "setsid", "--ctty"]
        shell += ["bash", "--noprofile", "--rcfile", self._rc, "--noediting", "-i"]
        self._printed, self._carry = Transcript(self._limit), b""
        self._word, self._status = secrets.token_hex(16), 0
        self._is_running, self._has_begun = True, True
        self._session.tell("shellrc", f"__terminal_word={self._word}\n{_PROMPT}")
        streams = {"stdin": slave, "stdout": slave, "stderr": slave}
        try:
            self._process = start(self._sandbox, self._session, AGENT, shell, self._env, **streams)
        except SandboxFailed:
            os.close(self._master)
            self._master = -1
            raise
        finally:
            os.close(slave)
        self._read(_START_SECONDS)
        if self._is_running or not self._is_alive:
            printed = self._printed.text()
            self.close()
            raise SandboxFailed(f"The shell does not start: {printed.strip()}")
        self._shell = os.tcgetpgrp(self._master)
        self._printed = Transcript(self._limit)

    @property
    def _is_alive(self) -> bool:
        return self._process.poll() is None

    def _outcome(self, *, timed_out: bool = False) -> Outcome:
        printed, self._printed = self._printed, Transcript(self._limit)
        has_new_shell = not self._is_alive
        code: int | None = None if self._is_running else self._status
        if has_new_shell:
            printed.feed(self._carry)
            code = self._process.returncode % 256 if self._process.returncode >= 0 else 137
            self.close()
            self._start()
            self._status = code
        return Outcome(printed.text(), printed.left_out, 124 if timed_out else code, timed_out, has_new_shell)

    def _interrupt(self) -> None:
        """Ends what runs: as a person would, then as a system does, then with the shell."""
        # An interrupt that meets a program between its fork and its start is lost: so a second one, as people do.
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not self._is_running or not self._is_alive:
                return
            self._signal(number)
            self._read(_GRACE_SECONDS)
        if self._is_running and self._is_alive:
            self._sandbox.end(self._session, self._process)

    def _signal(self, number: int) -> None:
        """Sends a signal to the programs in the foreground; the shell itself gets no more than an interrupt."""
        try:
            group = os.tcgetpgrp(self._master)
            if group == self._shell:
                self._tidy()
                self._type(b"\x03")
            elif group > 0 and os.getsid(group) == os.getsid(self._shell):
                # Not by a control character: programs read those as they like, and what is left the shell would read.
                os.killpg(group, number)
        except OSError:
            pass  # they have just ended

    def _tidy(self) -> None:
        """Takes back what programs made of the terminal, and what was typed and never read."""
        with suppress(OSError):  # where the shell has ended there is none
            slave = os.open(self._name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                termios.tcsetattr(slave, termios.TCSANOW, self._modes)
                termios.tcflush(slave, termios.TCIFLUSH)
            finally:
                os.close(slave)

    def _type(self, data: bytes) -> None:
        # A terminal takes 4 KiB that nobody reads; what is more than that is lost in any terminal.
        give_up = time.monotonic() + _GRACE_SECONDS
        while data and time.monotonic() < give_up:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                self._read(_TICK / 10)
            except OSError:
                return  # the shell has ended, which the next outcome tells

    def _read(self, seconds: float, *, until_begun: bool = False) -> None:
        """Reads until the command has ended (or begun), the shell has ended, or the time is over."""
        give_up = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        while self._is_running and not (until_begun and self._has_begun):
            left = give_up - time.monotonic()
            if poll.poll(max(min(left, _TICK), 0) * 1000):
                if not self._take():
                    break
            elif left <= 0 or not self._is_alive:
                break

    def _take(self) -> bool:
        """Takes what was printed; returns False where the terminal has no other end any more."""
        try:
            data = os.read(self._master, 65_536)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_START_SECONDS)
            return False
        self._carry += data
        word = self._word.encode()
        if not self._has_begun and (mark := b"\x1e" + word + b"\x1e") in self._carry:
            before, _, self._carry = self._carry.partition(mark)
            self._printed.feed(before)
            self._has_begun = True
        found = re.search(rb"\x1e" + word + rb"\t(\d{1,3})\t([^\0\x1e]*)\x1e", self._carry)
        if found:
            self._printed.feed(self._carry[: found.start()])
            self._status, self.folder = int(found[1]) % 256, os.fsdecode(found[2]) or self._home
            self._carry, self._is_running = self._carry[found.end() :], False
        else:
            # What may be the beginning of a marker waits for its end.
            begins = self._carry.rfind(b"\x1e")
            cut = begins if begins >= 0 and len(self._carry) - begins <= _LONGEST_MARK else len(self._carry)
            self._printed.feed(self._carry[:cut])
            self._carry = self._carry[cut:]
        return True


_LONGEST_MARK = 8192
"""Bytes of a marker with the longest path that the kernel knows."""
