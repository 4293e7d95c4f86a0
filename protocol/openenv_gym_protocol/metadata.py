"""The keys of an observation's metadata that say something of the episode rather than of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRUNCATED_KEYS = ("truncated", "TimeLimit.truncated")
"""Where metadata says that an episode was cut off rather than ended."""

EPISODE_KEYS = frozenset({*TRUNCATED_KEYS, "episode_id"})
"""All of them."""


def is_truncated(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata says that the episode was cut off."""
    # Most have neither key: told without a generator.
    return not metadata.keys().isdisjoint(TRUNCATED_KEYS) and any(metadata.get(key) for key in TRUNCATED_KEYS)
