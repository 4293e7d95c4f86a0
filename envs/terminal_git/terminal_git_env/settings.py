"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError, nearest

BUNDLED_TASKS = Path(__file__).with_name("tasks")

SANDBOXES = ("auto", "bubblewrap", "namespaces", "rlimits")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served, and how it is confined.

    Attributes:
        sandbox: What confines the shell; ``auto`` for the better of the first two that works.
        tasks: The folder of the tasks.
        command_timeout: Seconds that a command may take.
        output_limit: Bytes of a command's output that are shown; the middle of longer ones is left out.
    """

    sandbox: str = "auto"
    tasks: Path = BUNDLED_TASKS
    command_timeout: float = 20.0
    output_limit: int = 16_384

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``TERMINAL_GIT_SANDBOX``, ``_TASKS``, ``_COMMAND_TIMEOUT`` and ``_OUTPUT_LIMIT``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        sandbox = _text(read, "TERMINAL_GIT_SANDBOX") or "auto"
        if sandbox not in SANDBOXES:
            raise ConfigurationError(f"TERMINAL_GIT_SANDBOX={sandbox!r} is no sandbox. {nearest(sandbox, SANDBOXES)}")
        tasks = _text(read, "TERMINAL_GIT_TASKS")
        return cls(
            sandbox=sandbox,
            tasks=Path(tasks).expanduser().absolute() if tasks else BUNDLED_TASKS,
            command_timeout=_number(read, "TERMINAL_GIT_COMMAND_TIMEOUT", 20.0, least=0.5, most=240.0),
            output_limit=int(_number(read, "TERMINAL_GIT_OUTPUT_LIMIT", 16_384, least=256, most=1_048_576)),
        )


def _text(read: Mapping[str, str], name: str) -> str:
    """A setting's text; keywords of ``gymnasium.make`` arrive as JSON, in quotation marks."""
    text = read.get(name, "")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _number(read: Mapping[str, str], name: str, default: float, *, least: float, most: float) -> float:
    text = read.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise ConfigurationError(f"{name}={text!r} must be a number from {least} to {most}.")
    return value
