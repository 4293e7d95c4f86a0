"""Virtual environments with earlier releases of Gymnasium, in which tests of this checkout run.

``python -m tests.support.gymnasium_versions`` makes them ahead of the tests.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.venvs import REPOSITORY, own_requirements, virtual_environment

OLDEST = "1.1.1"
"""Of the first minor release that this project takes."""

VERSIONS = (OLDEST, "1.2.2")
"""The oldest, and the one that RLlib insists on."""

_TEST_REQUIREMENTS = ("pytest>=8.3", "pytest-timeout>=2.3")


@dataclass(frozen=True)
class Run:
    """What a run of pytest said.

    Attributes:
        passed: How many tests passed.
        failed: How many failed, or could not run.
        output: All that it wrote.
    """

    passed: int
    failed: int
    output: str


def gymnasium_environment(version: str) -> Path:
    """The interpreter beside which one release of Gymnasium is installed, with this checkout.

    Raises:
        VenvUnavailable: It is not there and could not be made.
    """
    requirements = [f"gymnasium=={version}", *own_requirements("server", without="gymnasium"), *_TEST_REQUIREMENTS]
    base = None if version == OLDEST else gymnasium_environment(OLDEST)
    return virtual_environment(f"gymnasium-{version}", requirements, with_ours=True, base=base)


def run_tests(python: Path, arguments: Sequence[str], *, timeout: float) -> Run:
    """Runs tests of this checkout by another interpreter, with a pool of servers of its own.

    Args:
        python: The interpreter.
        arguments: Pytest's.
        timeout: Seconds that it may take.
    """
    foreign = ("OPENENV_", "PYTEST_", "PYTHONPATH")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=own, capture_output=True, text=True, timeout=timeout, check=False
    )
    output = done.stdout + done.stderr
    counts = {kind: int(count) for count, kind in re.findall(r"(\d+) (passed|failed|errors?)\b", output)}
    failed = sum(count for kind, count in counts.items() if kind != "passed")
    return Run(counts.get("passed", 0), failed or int(done.returncode != 0), output)


if __name__ == "__main__":
    for version in VERSIONS:
        print(gymnasium_environment(version))
