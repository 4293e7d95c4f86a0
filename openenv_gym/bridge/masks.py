"""Which lanes a reset means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openenv_gym.bridge.checks import check_reset_options

RESET_MASK = "reset_mask"


def reset_mask(options: Mapping[str, Any] | None, count: int) -> tuple[list[int], dict[str, Any]]:
    """Reads the lanes to reset from a reset's options, and leaves the caller's own mapping as it is.

    Args:
        options: The options, with or without ``reset_mask``.
        count: How many lanes there are.

    Returns:
        The lanes to reset, and the other options.

    Raises:
        ConfigurationError: The options are no dict.
        TypeError: The mask is no numpy array of bool.
        ValueError: It has another shape than ``(count,)``, or chooses no lane.
    """
    check_reset_options(options)
    rest = dict(options or {})
    if RESET_MASK not in rest:
        return list(range(count)), rest
    mask = rest.pop(RESET_MASK)
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"`options['reset_mask']` must be a numpy array, got {type(mask)}")
    if mask.shape != (count,):
        raise ValueError(f"`options['reset_mask']` must have shape `({count},)`, got {mask.shape}")
    if mask.dtype != np.bool_:
        raise TypeError(f"`options['reset_mask']` must have `dtype=np.bool_`, got {mask.dtype}")
    if not np.any(mask):
        raise ValueError(
            f"`options['reset_mask']` must contain a boolean array with at least one True value, got reset_mask={mask}"
        )
    return [int(lane) for lane in np.flatnonzero(mask)], rest
