"""The trainers: a virtual environment for each of them, and the examples that learn in it.

``python -m tests.support.trainers [NAME ...]`` runs those examples, or all, and writes what they print into
``examples/results``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.venvs import REPOSITORY, VenvUnavailable, own_requirements, virtual_environment

EXAMPLES = REPOSITORY / "examples"
RESULTS = EXAMPLES / "results"

# Torch is pinned: a newer one may come as a build for GPUs, of several gigabytes.
TORCH = "torch==2.13.0"

TRAINERS: dict[str, Sequence[str]] = {
    "cleanrl": (TORCH,),
    "gem": ("gem-llm>=0.1",),
    "rllib": ("ray[rllib]>=2.60", TORCH, "gymnasium==1.2.2"),
    "skrl": ("skrl>=2.1", TORCH),
    "skyrl": ("skyrl-gym>=0.4",),
    "stable-baselines3": ("stable-baselines3>=2.9", TORCH),
    "tianshou": ("tianshou>=2.0.1", TORCH),
    "torchrl": ("torchrl>=0.14", TORCH),
    "trl": ("trl>=1.16", "transformers>=5.2", TORCH),
    "verifiers": ("verifiers>=0.4",),
}
"""The name of each trainer, and what pip installs for it besides what this project needs."""


@dataclass(frozen=True)
class Program:
    """An example that learns.

    Attributes:
        trainer: In whose virtual environment it runs.
        file: Its name in ``examples``.
        arguments: What it is given on the command line.
        steps: The most steps that it may take.
        must_reach: What the mean return of its last line must be above.
    """

    trainer: str
    file: str
    arguments: Sequence[str] = ()
    steps: int = 60_000
    must_reach: float = 150.0


PROGRAMS: dict[str, Program] = {
    "ppo_cartpole_next_step": Program("cleanrl", "ppo_cartpole.py", ("--autoreset-mode", "NextStep")),
    "ppo_cartpole_same_step": Program("cleanrl", "ppo_cartpole.py", ("--autoreset-mode", "SameStep")),
    "rllib_cartpole": Program("rllib", "rllib_cartpole.py"),
    "sb3_cartpole": Program("stable-baselines3", "sb3_cartpole.py"),
    "skrl_cartpole": Program("skrl", "skrl_cartpole.py"),
    "tianshou_cartpole": Program("tianshou", "tianshou_cartpole.py"),
    "torchrl_cartpole": Program("torchrl", "torchrl_cartpole.py"),
}
"""The name of each result, and the program that prints it. Of CartPole, 500 is the most, and a random policy has 22."""


def trainer_python(trainer: str) -> Path:
    """The interpreter that has a trainer.

    Raises:
        VenvUnavailable: It is not there and could not be made.
    """
    wanted = TRAINERS[trainer]
    pins_gymnasium = any(each.startswith("gymnasium==") for each in wanted)
    ours = own_requirements("server", without="gymnasium" if pins_gymnasium else "")
    return virtual_environment(f"trainer-{trainer}", [*wanted, *ours], with_ours=True)


def python_or_skip(trainer: str) -> Path:
    """The interpreter that has a trainer; where it cannot be made, the test is skipped."""
    try:
        return trainer_python(trainer)
    except VenvUnavailable as error:
        pytest.skip(str(error))


def run_with(trainer: str, *command: str, timeout: float = 300.0, environ: Mapping[str, str] | None = None) -> str:
    """Runs Python with a trainer; returns what it printed.

    Args:
        trainer: The trainer's name.
        *command: What the interpreter is given: a file and its arguments, or ``-c`` and a program.
        timeout: Seconds until it is killed.
        environ: Variables besides those of this process.

    Raises:
        RuntimeError: It failed. The message ends with what it wrote to standard error.
        VenvUnavailable: The trainer is not there and could not be made.
    """
    # A root of its own, not a member of this process's pool; and one thread: the networks are small.
    inherited = {name: value for name, value in os.environ.items() if name != "OPENENV_GYM_POOL"}
    variables = {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", **inherited, **(environ or {})}
    run = subprocess.run(
        [str(trainer_python(trainer)), *command],
        env=variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(f"{command[0]} failed with {run.returncode}:\n{run.stderr[-3000:]}")
    return run.stdout


def train(name: str, *arguments: str, timeout: float = 900.0) -> str:
    """Runs one of the programs, with more arguments of its own, and returns what it printed.

    Raises:
        RuntimeError: It failed.
        VenvUnavailable: Its trainer is not there and could not be made.
    """
    program = PROGRAMS[name]
    return run_with(program.trainer, str(EXAMPLES / program.file), *program.arguments, *arguments, timeout=timeout)


def main() -> None:
    """Runs programs and writes their results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all unless told")
    names = parser.parse_args().names
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program is called {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    RESULTS.mkdir(exist_ok=True)
    for name in names or PROGRAMS:
        (RESULTS / f"{name}.txt").write_text(train(name), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main()
