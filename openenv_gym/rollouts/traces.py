"""Episodes in a file: JSON lines, the first of which tells the format.

::

    {"type": "header", "format": "openenv-gym.rollouts", "version": 1, "environment": "openenv/Blackjack-v0", ...}
    {"type": "episode", "number": 0, "group": 0, "seed": 7, "first_observation": {...}, "steps": [...], ...}
    {"type": "group", "number": 0, "seed": 7, "differences": [...]}
    {"type": "end", "statistics": {...}}

An episode's line is written when it has ended or was interrupted, so that a killed program leaves whole episodes.
A reader passes over types and keys that it does not know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from openenv_gym_protocol import codec
from openenv_gym_protocol.errors import ConfigurationError
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.groups import Group
from openenv_gym.rollouts.statistics import Statistics
from openenv_gym.rollouts.values import json_of

FORMAT = "openenv-gym.rollouts"
VERSION = 1

_EPISODE = TypeAdapter(Episode)


class TraceWriter:
    """Writes a trace.

    Args:
        path: The file, which must not be there yet.
        environment: What is played, as it was named.
        about: What else is worth knowing, such as the policy's version.

    Raises:
        ConfigurationError: The file is there already, or cannot be written.
    """

    def __init__(self, path: str | Path, *, environment: str = "", about: Mapping[str, Any] | None = None) -> None:
        self._path = Path(path)
        try:
            self._file: BinaryIO = self._path.open("xb")
        except FileExistsError as error:
            raise ConfigurationError(f"trace: {path} is there already. Name another file, or remove it.") from error
        except OSError as error:
            raise _unwritable(path, error) from error
        told = {"format": FORMAT, "version": VERSION, "environment": environment, "about": about}
        self._write("header", told)

    def episode(self, episode: Episode) -> None:
        """Writes an episode.

        Raises:
            ConfigurationError: It holds something that JSON cannot carry, and nothing of it is written; or the file
                cannot be written any more, because the disk is full, for one.
        """
        try:
            self._write("episode", _fields_of(episode))
        except ConfigurationError as error:
            raise ConfigurationError(f"Episode {episode.number} cannot be traced. {error}") from error

    def group(self, group: Group) -> None:
        """Writes what became of a group."""
        told = [dataclasses.asdict(each) for each in group.differences]
        self._write("group", {"number": group.number, "seed": group.seed, "differences": told})

    def end(self, statistics: Statistics) -> None:
        """Writes the last line and closes the file. Idempotent.

        Raises:
            ConfigurationError: It cannot be written; the file is closed all the same.
        """
        try:
            if not self._file.closed:
                self._write("end", {"statistics": dataclasses.asdict(statistics)})
        finally:
            self.close()

    def close(self) -> None:
        """Closes the file, without a last line where none was written. Idempotent.

        Raises:
            ConfigurationError: What was written before did not reach the disk; the file is closed all the same.
        """
        try:
            self._file.close()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, kind: str, told: Mapping[str, Any]) -> None:
        line = json_of({"type": kind, **told}) + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error


def _unwritable(path: str | Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"trace: {path} cannot be written: {error.strerror}.")


@dataclass
class Trace:
    """What a file of traces holds.

    Attributes:
        environment: What was played, as it was named.
        about: What the writer was told of it.
        episodes: The episodes, in the order in which they ended.
        differences: The differences in each group that has some, by the group's number, as they were written.
        statistics: Those of the last line; None where the run did not come to its end.
        is_cut: Whether the last line is incomplete: the writer was killed. The other lines are whole.
    """

    environment: str
    about: Any = None
    episodes: list[Episode] = field(default_factory=list)
    differences: dict[int, list[Any]] = field(default_factory=dict)
    statistics: dict[str, Any] | None = None
    is_cut: bool = False


def read_trace(path: str | Path) -> Trace:
    """Reads a trace.

    Raises:
        ConfigurationError: It is no trace, of a later version, or has a line that is no JSON; the line is named.
        OSError: The file cannot be read.
    """
    lines = Path(path).read_bytes().split(b"\n")
    cut = lines.pop() != b""
    if not lines:
        raise ConfigurationError(f"{path} is no trace of rollouts: it has no whole line.")
    header = _line(path, 1, lines[0])
    if header.get("format") != FORMAT:
        raise ConfigurationError(f"{path} is no trace of rollouts: its first line does not name {FORMAT!r}.")
    if header.get("version") != VERSION:
        raise ConfigurationError(
            f"{path} has version {header.get('version')!r} of the format, and this reads {VERSION}. Update openenv-gym."
        )
    trace = Trace(str(header.get("environment", "")), header.get("about"), is_cut=cut)
    for number, text in enumerate(lines[1:], start=2):
        _take(trace, path, number, _line(path, number, text))
    return trace


def _take(trace: Trace, path: str | Path, number: int, told: dict[str, Any]) -> None:
    try:
        match told.get("type"):
            case "episode":
                trace.episodes.append(_episode_of(told))
            case "group" if told["differences"]:
                trace.differences[told["number"]] = told["differences"]
            case "end":
                trace.statistics = told["statistics"]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{path}, line {number}: the {told.get('type')} is wrong: {error!r}.") from error


def _line(path: str | Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        told = from_json(text)
    except ValueError as error:
        raise ConfigurationError(f"{path}, line {number} is no JSON: {error}.") from error
    if not isinstance(told, dict):
        raise ConfigurationError(f"{path}, line {number} is no JSON object.")
    return told


def _fields_of(value: Any) -> dict[str, Any]:
    # Not dataclasses.asdict, which copies observations, and takes apart those that are dataclasses.
    told = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Episode):
        told["steps"] = [_fields_of(step) for step in value.steps]
        told["earlier"] = [_fields_of(attempt) for attempt in value.earlier]
        told["failure"] = None if value.failure is None else _fields_of(value.failure)
        told["total_reward"] = value.total_reward
    return told


def _episode_of(told: Mapping[str, Any]) -> Episode:
    missing = {"number", "seed", "steps", "earlier", "ending"} - told.keys()
    if missing:
        raise ValueError(f"it has no {', '.join(sorted(missing))}")
    try:
        return _EPISODE.validate_python(told)
    except ValidationError as error:
        raise ValueError(codec.with_faults("its fields do not fit", codec.faults_of(error))) from error
