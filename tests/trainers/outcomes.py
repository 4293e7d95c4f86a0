"""What came of the checks that a program made in a trainer's virtual environment."""

from __future__ import annotations

import json
import re
import socket
import time
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.trainers import python_or_skip, run_with

_PROGRAMS = Path(__file__).parent / "programs"


def check_names(program: str) -> list[str]:
    """The names of a program's checks, read without importing it: what it imports is not here."""
    return re.findall(r"^def check_(\w+)\(", (_PROGRAMS / f"{program}.py").read_text(encoding="utf-8"), re.MULTILINE)


def assert_check(trainer: str, program: str, name: str) -> None:
    """Fails with the traceback of a check that failed. At the first call, all of a program run in one process."""
    python_or_skip(trainer)
    failure = _outcomes(trainer, program)[name]
    assert failure is None, failure


def assert_nothing_is_left(trainer: str, program: str) -> None:
    """Fails when a server outlives a program that closed nothing, by more than its end takes."""
    python_or_skip(trainer)
    printed = run_with(trainer, str(_PROGRAMS / f"{program}.py"), "unclosed", timeout=900)
    address = urlsplit(printed.splitlines()[-1])
    assert address.hostname
    assert address.port
    deadline = time.monotonic() + 60
    while _answers(address.hostname, address.port):
        assert time.monotonic() < deadline, f"the server at {address.geturl()} runs on"
        time.sleep(0.1)


@cache
def _outcomes(trainer: str, program: str) -> dict[str, str | None]:
    printed = run_with(trainer, str(_PROGRAMS / f"{program}.py"), timeout=1500)
    outcomes: dict[str, str | None] = json.loads(printed.splitlines()[-1])
    return outcomes


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True
