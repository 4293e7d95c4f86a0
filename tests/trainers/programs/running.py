"""Runs the checks of a program in a trainer's virtual environment, where there is no pytest.

``python PROGRAM`` runs every function ``check_*`` and prints as its last line a JSON object: the name of each check,
and the traceback of its failure or null. ``python PROGRAM unclosed`` runs ``unclosed``, which uses environments, closes
nothing and returns the address of their server; that is the last line then.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import openenv_gym


def run(names: Mapping[str, Any]) -> None:
    """Runs what the command line asks for.

    Args:
        names: The program's globals.
    """
    if sys.argv[1:] == ["unclosed"]:
        print(names["unclosed"]())
        return
    own = {name: value for name, value in names.items() if getattr(value, "__module__", None) == "__main__"}
    checks = {name.removeprefix("check_"): value for name, value in own.items() if name.startswith("check_")}
    failures = {name: _failure(check) for name, check in checks.items()}
    openenv_gym.shutdown()
    print(json.dumps(failures))


def _failure(check: Callable[[], None]) -> str | None:
    try:
        check()
    except Exception:
        return traceback.format_exc()
    return None


@contextmanager
def raises(kind: type[BaseException], text: str = "") -> Iterator[None]:
    """Expects an exception with a text in it."""
    try:
        yield
    except kind as error:
        if text not in str(error):
            raise AssertionError(f"{text!r} is not in {error}") from error
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
