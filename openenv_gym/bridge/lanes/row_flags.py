"""The flags that a row of the vector wire may have, by what it answers."""

from __future__ import annotations

from openenv_gym_protocol.vector.frames import (
    RESET_ROW,
    REWARD_MISSING,
    SEED_APPLIED,
    SEED_UNKNOWN,
    TERMINATED,
    TRUNCATED,
)

_SEEDS = (0, SEED_APPLIED, SEED_UNKNOWN)
_ENDS = (0, TERMINATED, TRUNCATED, TERMINATED | TRUNCATED)

OF_RESETS = frozenset(_SEEDS)
"""Those of a reset that was asked for."""

OF_AUTORESETS = frozenset(RESET_ROW | seed for seed in _SEEDS)
"""Those of a reset in place of a step."""

OF_THE_MIDST = frozenset(missing | seed for missing in (0, REWARD_MISSING) for seed in _SEEDS)
"""Those of a step that ended no episode."""

OF_STEPS = frozenset(end | midst for end in _ENDS for midst in OF_THE_MIDST)
"""Those of a step."""
