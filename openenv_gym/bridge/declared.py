"""What is known of an environment before anybody connects to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the catalogue says of an environment.

    Attributes:
        action_space: The action space as data; see ``openenv_gym_protocol.gymnasium_spaces``. None: the server is
            asked.
        observation_space: The observation space as data; None together with ``action_space``.
        reset_options: The names of the reset options, each with its JSON Schema; None: not known.
        info_keys: Keys that every info has.
        seeded_stream: Whether unseeded resets continue the random stream of a seeded one; None: not known.
        seed_supported: Whether a reset obeys its seed; None: not known.
        render_modes: What it can be pictured as, where its server speaks the vector wire; None: not known.
        render_fps: Pictures a second; None: not known.
    """

    action_space: dict[str, Any] | None = None
    observation_space: dict[str, Any] | None = None
    reset_options: Mapping[str, Any] | None = field(default_factory=dict)
    info_keys: tuple[str, ...] = ()
    seeded_stream: bool | None = None
    seed_supported: bool | None = None
    render_modes: tuple[str, ...] | None = ()
    render_fps: float | None = None


ProjectReader: TypeAlias = Callable[[str], Declared | None]
"""Reads what a project's manifest says, from the path of its folder; None where there is no manifest."""

_readers: list[ProjectReader] = []


def use_project_reader(reader: ProjectReader) -> None:
    """Sets how manifests are read. The front door does, since the registry knows them and stands above the bridge."""
    _readers[:] = [reader]


def declared_by_project(path: str) -> Declared | None:
    """What the manifest of a project's folder says; None where there is none.

    Raises:
        ConfigurationError: The manifest is wrong; the message names the line and the field.
    """
    return _readers[0](path) if _readers else None
