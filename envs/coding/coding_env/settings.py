"""What a server serves: the only module here that reads environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args

from openenv_gym_protocol.errors import ConfigurationError

Choice = Literal["auto", "bubblewrap", "namespaces", "rlimits"]

_RANGES: dict[str, tuple[int, int]] = {
    "step_seconds": (1, 240),
    "memory_mb": (64, 1 << 20),
    "cpu_seconds": (1, 86_400),
    "processes": (1, 4096),
    "file_mb": (1, 1 << 20),
    "open_files": (16, 4096),
    "output_bytes": (256, 1 << 20),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How code is run.

    Attributes:
        sandbox: How it is confined.
        python: The interpreter whose packages it may use; empty for the server's own without packages.
        step_seconds: How long a block may take, where the reset does not say it.
        memory_mb: MiB of address space that each process may have.
        cpu_seconds: Seconds of CPU that each process may use.
        processes: How many processes and threads a session may have.
        file_mb: MiB of the largest file, and of all files in each writable folder.
        open_files: How many files a process may have open.
        output_bytes: Bytes that are kept of what a block writes to standard output, and to standard error.
    """

    sandbox: Choice = "auto"
    python: str = ""
    step_seconds: int = 10
    memory_mb: int = 512
    cpu_seconds: int = 300
    processes: int = 32
    file_mb: int = 64
    open_files: int = 64
    output_bytes: int = 32_768

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``CODING_SANDBOX``, ``CODING_PYTHON``, ``CODING_STEP_SECONDS`` and so on.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable.
        """
        read = os.environ if environ is None else environ
        sandbox = read.get("CODING_SANDBOX") or "auto"
        if sandbox not in get_args(Choice):
            raise ConfigurationError(f"CODING_SANDBOX={sandbox!r} must be one of {', '.join(get_args(Choice))}.")
        numbers = {name: _number(read, name) for name in _RANGES}
        return cls(sandbox=sandbox, python=read.get("CODING_PYTHON", ""), **numbers)  # type: ignore[arg-type]


def _number(read: Mapping[str, str], name: str) -> int:
    variable, (least, most) = f"CODING_{name.upper()}", _RANGES[name]
    (default,) = (field.default for field in fields(Settings) if field.name == name)
    text = read.get(variable) or str(default)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ConfigurationError(f"{variable}={text!r} must be a whole number from {least} to {most}.")
    return int(text)
