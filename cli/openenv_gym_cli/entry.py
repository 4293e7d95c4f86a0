"""What the installed scripts run: it says what to install where the command's own packages are missing."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

_OWN_PACKAGES = ("typer", "rich")


def main() -> None:
    """Runs the command of this process's arguments and ends the process with its exit code."""
    _mend_streams()
    try:
        import_module("rich")  # else it would be missed in the middle of a command
        from openenv_gym_cli.app import app
        from openenv_gym_cli.output import tell_warnings
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OWN_PACKAGES:
            raise
        sys.stderr.write(f'The openenv command needs {error.name}: pip install "openenv-gym[cli]"\n')
        sys.exit(2)
    tell_warnings()
    called = Path(sys.argv[0]).name
    # By `python -m` it is a file's name.
    app(prog_name=called if called.startswith("openenv") else "openenv")


def _mend_streams() -> None:
    """Lets everything be written: characters that a stream's encoding lacks as escapes, and nothing to a closed one."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  (until the process ends)
        else:
            stream.reconfigure(errors="backslashreplace")
