"""From the infos of a vector environment to one info for each lane, as trainers want them that count by lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError

_STATISTICS = "episode"
"""Of the episode that ended: RecordEpisodeStatistics writes it beside the info of the one that began."""


def split_infos(infos: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """One info for each lane.

    Args:
        infos: What a vector environment returned: for each key an array with a value for each lane, or such infos
            again, and under ``_key`` a mask that says which lanes have one. A key without a mask is every lane's.
        count: How many lanes there are.

    Returns:
        New dicts. Numbers and texts are Python's; arrays of a lane are copies.
    """
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for key, column in infos.items():
        if key.startswith("_") and key[1:] in infos:
            continue
        values = _values(column, count)
        mask = infos.get(f"_{key}")
        for lane in range(count) if mask is None else np.flatnonzero(mask).tolist():
            rows[lane][key] = values[lane]
    return rows


def same_step_infos(
    infos: Mapping[str, Any], ends: NDArray[np.bool_]
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """One info for each lane's step, apart from those of the resets within it.

    Args:
        infos: What a step in the autoreset mode SAME_STEP returned.
        ends: Whether each lane's episode ended in it, of shape ``(lanes,)``.

    Returns:
        The info of each lane's step, which has ``final_obs`` where an episode ended, and the statistics of
        RecordEpisodeStatistics; and, by lane, the info of each reset.

    Raises:
        ConfigurationError: A lane's episode ended, and the environment does not say with what observation.
    """
    rows = split_infos(infos, len(ends))
    resets: dict[int, dict[str, Any]] = {}
    for lane in np.flatnonzero(ends).tolist():
        reset = rows[lane]
        if "final_obs" not in reset:
            raise ConfigurationError(
                f"The episode of lane {lane} ended without final_obs in the infos: the environment says that it is in "
                "the autoreset mode SAME_STEP, and does not keep to it."
            )
        rows[lane] = reset.pop("final_info", {})
        rows[lane].update({key: reset.pop(key) for key in ("final_obs", _STATISTICS) if key in reset})
        resets[lane] = reset
    return rows, resets


def _values(column: Any, count: int) -> Sequence[Any]:
    if isinstance(column, Mapping):
        return split_infos(column, count)
    if isinstance(column, np.ndarray) and column.ndim and len(column) == count:
        return column.tolist() if column.ndim == 1 else [row.copy() for row in column]
    if isinstance(column, list | tuple) and len(column) == count:
        return column
    return [deepcopy(column) for _ in range(count)]
