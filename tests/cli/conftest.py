"""What the tests of the command share."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import PATIENCE, environ

_PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "server_user.py"
_PROJECT = Path(__file__).parents[2] / "envs" / "echo"


@dataclass
class Machine:
    """This machine with a folder for pools of its own, and without an engine.

    Attributes:
        env: The environment variables of what runs there.
    """

    env: dict[str, str]

    @contextmanager
    def program(self) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
        """A program that uses a server, and what it says of it."""
        process = subprocess.Popen(
            [sys.executable, str(_PROGRAM), str(_PROJECT)],
            env=environ(self.env),
            cwd=_PROGRAM.parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                assert process.stdout is not None
                yield process, json.loads(process.stdout.readline())
            finally:
                process.kill()
                process.wait(PATIENCE)


@pytest.fixture
def machine() -> Iterator[Machine]:
    # Not in tmp_path, which may be long: a socket's path may have 107 bytes.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Machine({"TMPDIR": folder, "DOCKER_HOST": f"unix://{folder}/no-engine"})
