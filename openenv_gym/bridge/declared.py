"""What is known of an environment before anybody connects to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the catalogue says of an environment.

    Attributes:
        action_space: The action space as data; see ``openenv_gym_protocol.gymnasium_spaces``.
        observation_space: The observation space as data.
        reset_options: The names of the reset options, each with its JSON Schema.
        info_keys: Keys that every info has.
        seeded_stream: Whether unseeded resets continue the random stream of a seeded one; None: not known.
        seed_supported: Whether a reset obeys its seed; None: not known.
    """

    action_space: dict[str, Any]
    observation_space: dict[str, Any]
    reset_options: Mapping[str, Any] = field(default_factory=dict)
    info_keys: tuple[str, ...] = ()
    seeded_stream: bool | None = None
    seed_supported: bool | None = None
