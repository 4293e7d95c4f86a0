"""How the command ends: the exit codes, and how an error becomes one sentence and one of them."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from collections.abc import Callable, Iterator
from enum import IntEnum
from types import FrameType
from typing import Any

import typer
from openenv_gym_protocol.errors import OpenEnvGymError, ValidationFailure

from openenv_gym_cli import output


class ExitCode(IntEnum):
    """What scripts can go by."""

    DONE = 0
    FAILED = 1
    """What was asked about failed: a finding, a server that does not become ready, an upload."""
    WRONG_INPUT = 2
    """Wrong usage or input; nothing was done."""
    INTERRUPTED = 130


def ending_well(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose errors are told in a sentence and end it with their exit code.

    Args:
        function: The command. It may return its exit code.
    """

    @functools.wraps(function)
    def run(*arguments: Any, **keywords: Any) -> None:
        try:
            with ending_by_signal():
                code = function(*arguments, **keywords)
        except OpenEnvGymError as error:
            if is_debugging():
                raise
            output.error(error.message)
            code = ExitCode.WRONG_INPUT if isinstance(error, ValidationFailure) else ExitCode.FAILED
        except BrokenPipeError:
            raise  # nobody reads on, as of `openenv list | head -1`: the command ends without a word
        except OSError as error:
            if is_debugging():
                raise
            where = f"{error.filename}: " if error.filename is not None else ""
            output.error(f"{where}{error.strerror or error}. OPENENV_GYM_DEBUG=1 shows where that happened.")
            code = ExitCode.FAILED
        except (KeyboardInterrupt, typer.Abort):
            code = ExitCode.INTERRUPTED
        if code:
            raise typer.Exit(int(code))

    return run


@contextlib.contextmanager
def ending_by_signal() -> Iterator[None]:
    """Lets SIGTERM end the block as Ctrl-C does, so that nothing that it started is left.

    Ctrl-C does so too where a shell has this process ignore it, as it does for what it runs in the background.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def is_debugging() -> bool:
    """Whether tracebacks are wanted."""
    return os.environ.get("OPENENV_GYM_DEBUG") == "1"
