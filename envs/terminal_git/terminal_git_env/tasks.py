"""Tasks: folders in Harbor's layout, read once when the server starts.

::

    <name>/task.toml            [metadata] split, difficulty, tags; [verifier] timeout_sec; [variables]
    <name>/instruction.md       what the agent is told, with {{name}} for what the seed chooses
    <name>/environment/         setup.sh, run in the work tree; or files that the repository begins with
    <name>/tests/               test.sh, or test_*.py
    <name>/tests/agent/run.sh   where what the agent wrote has to run: runs it, without the other tests
    <name>/solution/solve.sh    a solution, for who checks the task
"""

from __future__ import annotations

import random
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from terminal_git_env.places import PATH
from terminal_git_env.variables import Variable, filled, placeholders, read_variables

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MOST_BYTES = 16 * 2**20
_MOST_SECONDS = 240.0
_REWARD_FILES = (b"/logs/verifier/reward.txt", b"/logs/verifier/reward.json")

AGENT_TESTS = "agent/"
"""Which tests run what the agent wrote."""

Files = dict[str, bytes]
"""Contents by their paths inside a folder; in memory, where nothing in a session can change them."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task.

    Attributes:
        name: Its folder's name.
        split: Which split it belongs to.
        metadata: What else ``[metadata]`` says.
        instruction: What the agent is told, with placeholders.
        variables: What a seed chooses.
        environment: What the session is made of.
        tests: What decides the reward.
        solution: The script that solves it; empty where none is known.
        test_seconds: How long the tests may take.
        has_reward_file: The tests write the reward to a file instead of telling it by their exit code.
    """

    name: str
    split: str
    metadata: dict[str, Any]
    instruction: str
    variables: dict[str, Variable]
    environment: Files
    tests: Files
    solution: str
    test_seconds: float
    has_reward_file: bool

    def draw(self, numbers: random.Random) -> dict[str, str]:
        """Chooses the values of the variables, by name."""
        return {name: variable.draw(numbers) for name, variable in self.variables.items()}

    def told(self, values: Mapping[str, str]) -> str:
        """The instruction of one episode."""
        return filled(self.instruction, values).strip()

    def described(self) -> dict[str, Any]:
        """What clients learn of the task without playing it."""
        return {"task_id": self.name, "split": self.split, **self.metadata, "instruction": self.instruction.strip()}


def read_tasks(folder: Path) -> dict[str, Task]:
    """Reads the tasks of a folder, in the order of their names.

    Raises:
        ConfigurationError: There is none, or one that cannot be; the message names the file.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"TERMINAL_GIT_TASKS: {folder} is no folder.")
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    if not found:
        raise ConfigurationError(f"TERMINAL_GIT_TASKS: {folder} has no tasks: a task is a folder with a task.toml.")
    return {path.name: read_task(path) for path in found}


def read_task(folder: Path) -> Task:
    """Reads and checks one task.

    Raises:
        ConfigurationError: Something is missing or wrong; the message names the file.
    """
    if not _NAME.fullmatch(folder.name):
        raise ConfigurationError(f"{folder}: a task's name is made of letters, digits, '_', '-' and '.'.")
    declared = _toml(folder / "task.toml")
    _refuse_misspelt(declared, ("metadata", "verifier", "variables"), f"{folder / 'task.toml'} has")
    verifier = _table(declared, "verifier", folder)
    _refuse_misspelt(verifier, ("timeout_sec",), f"{folder / 'task.toml'}: [verifier] has")
    metadata = dict(_table(declared, "metadata", folder))
    split = metadata.pop("split", "train")
    if not isinstance(split, str) or not _NAME.fullmatch(split):
        raise ConfigurationError(f"{folder / 'task.toml'}: [metadata] split is a name, not {split!r}.")
    variables = read_variables(declared.get("variables", {}), str(folder / "task.toml"))
    tests = _files(folder / "tests")
    solution = folder / "solution" / "solve.sh"
    task = Task(
        name=folder.name,
        split=split,
        metadata=metadata,
        instruction=_text(folder / "instruction.md"),
        variables=variables,
        environment=_files(folder / "environment"),
        tests=tests,
        solution=_text(solution) if solution.exists() else "",
        test_seconds=_seconds(verifier.get("timeout_sec", 30), folder),
        has_reward_file=any(path in tests.get("test.sh", b"") for path in _REWARD_FILES),
    )
    _check(task, folder)
    return task


def _check(task: Task, folder: Path) -> None:
    if not task.instruction.strip():
        raise ConfigurationError(f"{folder / 'instruction.md'} is empty.")
    unknown = sorted(placeholders(task.instruction) - set(task.variables))
    if unknown:
        raise ConfigurationError(f"{folder / 'instruction.md'} has {{{{{unknown[0]}}}}}, which is no variable.")
    if "Dockerfile" in task.environment and "setup.sh" not in task.environment:
        raise ConfigurationError(
            f"{folder / 'environment'} has a Dockerfile, and no image is built here: write what it does to the files "
            "as environment/setup.sh."
        )
    in_python = any(_is_python_test(name) for name in task.tests)
    if any(name.startswith(AGENT_TESTS) for name in task.tests) and f"{AGENT_TESTS}run.sh" not in task.tests:
        raise ConfigurationError(f"{folder / 'tests' / 'agent'} has no run.sh.")
    if "test.sh" not in task.tests and not in_python:
        raise ConfigurationError(f"{folder / 'tests'} has neither test.sh nor test_*.py.")
    if "test.sh" not in task.tests and shutil.which("python3", path=PATH) is None:
        raise ConfigurationError(f"{folder / 'tests'} needs a python3 in {PATH}; test.sh needs none.")


def _is_python_test(name: str) -> bool:
    return name.startswith("test_") and name.endswith(".py") and "/" not in name


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is no TOML: {error}") from None


def _table(declared: dict[str, Any], name: str, folder: Path) -> dict[str, Any]:
    table = declared.get(name, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"{folder / 'task.toml'}: [{name}] is a table, not {table!r}.")
    return table


def _refuse_misspelt(given: Iterable[str], known: tuple[str, ...], where: str) -> None:
    """Refuses what looks like a known name and is none. Harbor has others, which mean nothing here."""
    for name in given:
        close = [] if name in known else get_close_matches(name, known, n=1, cutoff=0.75)
        if close:
            raise ConfigurationError(f"{where} {name!r}. Did you mean {close[0]!r}?")


def _seconds(value: Any, folder: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST_SECONDS:
        raise ConfigurationError(
            f"{folder / 'task.toml'}: [verifier] timeout_sec is a number of seconds up to {_MOST_SECONDS:g}, "
            f"not {value!r}."
        )
    return float(value)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None


def _files(folder: Path) -> Files:
    """Every file below a folder; none where there is no folder."""
    read: Files = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise ConfigurationError(f"{path} is a symbolic link; a task has files of its own.")
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        size += path.stat().st_size
        if size > _MOST_BYTES:
            raise ConfigurationError(f"{folder} has more than {_MOST_BYTES} bytes.")
        read[path.relative_to(folder).as_posix()] = path.read_bytes()
    return read
