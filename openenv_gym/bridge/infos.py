"""From the metadata of a reply to the info of a step: flat, deterministic, with stable keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from openenv_gym_protocol.metadata import EPISODE_KEYS

SEED_APPLIED = "seed_applied"
REWARD_MISSING = "reward_missing"

FAILURE = "failure"
"""The key of the info that says with which failure class a lane failed; the row that has it is invented."""

FAILURE_MESSAGE = "failure_message"
"""The key of the info that says what happened."""

_DROPPED = EPISODE_KEYS
"""Said elsewhere: the step's own flag, and the environment's ``episode_id``, which would make equal steps differ."""

_RESERVED = frozenset(
    {
        "episode",
        "final_obs",
        "final_info",
        "terminal_observation",
        "env_id",
        "reset_info",
        SEED_APPLIED,
        REWARD_MISSING,
        FAILURE,
        FAILURE_MESSAGE,
    }
)
"""Keys that trainers, wrappers and the bridge write themselves; metadata of that name is found under
``metadata.<key>``."""


class InfoReader:
    """Reads the metadata of one lane's replies.

    Args:
        keys: Metadata that every info has: where a reply lacks one, NaN or an empty text stands for it.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.keys = tuple(keys)
        self._fillers: dict[str, Any] = {}

    def read(self, metadata: Mapping[str, Any], *, reward_missing: bool, seed_applied: int) -> dict[str, Any]:
        """Makes an info, of new objects throughout.

        Args:
            metadata: What the server sent beside the observation.
            reward_missing: Whether a step's reply had no reward.
            seed_applied: 1, 0 or -1; see ``seeds``.
        """
        info: dict[str, Any] = {}
        if metadata:
            for key, value in _leaves(metadata):
                info[_allowed(key)] = self._kept(key, value)
        for key in self.keys:
            if key not in metadata and key not in _DROPPED:
                info[_allowed(key)] = self._missing(key)
        info[SEED_APPLIED] = seed_applied
        info[REWARD_MISSING] = reward_missing
        return info

    def _kept(self, key: str, value: Any) -> Any:
        if value is None and (key in self._fillers or key in self.keys):
            return self._missing(key)
        kept = _array(value) if isinstance(value, list) else value
        if isinstance(kept, str):
            self._fillers[key] = ""
        elif isinstance(kept, np.ndarray):
            self._fillers[key] = kept
        elif isinstance(kept, bool | int | float):
            self._fillers[key] = np.nan
        return kept

    def _missing(self, key: str) -> Any:
        filler = self._fillers.get(key, np.nan)
        return np.zeros_like(filler) if isinstance(filler, np.ndarray) else filler


def _leaves(metadata: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in metadata.items():
        if not prefix and key in _DROPPED:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _allowed(key: str) -> str:
    return f"metadata.{key}" if key in _RESERVED or key.startswith("_") else key


def _array(values: list[Any]) -> Any:
    """Numbers as an array; anything else as it came."""
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        return values
    return array if array.size and array.dtype.kind in "bif" else values
