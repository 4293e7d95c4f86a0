"""A virtual environment with PyTorch and Stable-Baselines3, and the examples that learn in it.

``python -m tests.support.trainers`` runs them all and writes what they print into ``examples/results``.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.venvs import REPOSITORY, own_requirements, virtual_environment

EXAMPLES = REPOSITORY / "examples"
RESULTS = EXAMPLES / "results"

PROGRAMS: dict[str, Sequence[str]] = {
    "ppo_cartpole_next_step": ("ppo_cartpole.py", "--autoreset-mode", "NextStep"),
    "ppo_cartpole_same_step": ("ppo_cartpole.py", "--autoreset-mode", "SameStep"),
    "sb3_cartpole": ("sb3_cartpole.py",),
}
"""The name of each result, and the program and its arguments."""


def trainer_python() -> Path:
    """The interpreter that has them.

    Raises:
        VenvUnavailable: It is not there and could not be made.
    """
    # Torch is pinned: a newer one may come as a build for GPUs, of several gigabytes.
    requirements = ["torch==2.13.0", "stable-baselines3>=2.9", *own_requirements("server")]
    return virtual_environment("trainers", requirements, with_ours=True)


def train(name: str, *arguments: str, timeout: float = 900.0) -> str:
    """Runs one of the programs, with more arguments of its own, and returns what it printed.

    Raises:
        RuntimeError: It failed.
    """
    program, *rest = PROGRAMS[name]
    command = [str(trainer_python()), str(EXAMPLES / program), *rest, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{program} failed with {run.returncode}:\n{run.stderr[-3000:]}")
    return run.stdout


if __name__ == "__main__":
    RESULTS.mkdir(exist_ok=True)
    for name in PROGRAMS:
        (RESULTS / f"{name}.txt").write_text(train(name), encoding="utf-8")
        print(name)
