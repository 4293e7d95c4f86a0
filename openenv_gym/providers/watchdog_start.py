"""Starting a pool's watchdog: one process of the tree does it, under the pool's lock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers import watchdog
from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.bounded_log import tail
from openenv_gym.providers.watchdog.leftovers import try_lock, watchdog_answers

_START_SECONDS = 30.0
_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


def started_watchdog(location: PoolLocation) -> bool:
    """Starts the watchdog, unless somebody else is doing so or has done so.

    Returns:
        Whether there is one now, as far as this process can tell.

    Raises:
        ProviderError: It could not be started.
    """
    try:
        location.make_directory()
        with try_lock(location) as taken:
            if taken and not watchdog_answers(location):
                _run_watchdog(location)
            return taken
    except FileNotFoundError:
        # The directory was removed by a watchdog that was just ending.
        return False
    except subprocess.TimeoutExpired as error:
        raise ProviderError(f"The pool's watchdog did not start within {_START_SECONDS:g} s.") from error
    except OSError as error:
        raise ProviderError(f"The pool's directory {location.directory} cannot be used: {error}") from error


def _run_watchdog(location: PoolLocation) -> None:
    program = Path(watchdog.__file__).with_name("__main__.py")
    log = location.directory / "watchdog.log"
    with open(log, "ab", opener=_private) as output:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(program), str(location.directory)],
            # None of the trainer's secrets: it is the longest-lived of its processes.
            env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            check=False,
            timeout=_START_SECONDS,
        )
    if done.returncode != 0:
        raise ProviderError(f"The watchdog could not be started:\n{tail(log, 20)}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
