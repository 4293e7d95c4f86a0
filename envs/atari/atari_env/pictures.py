"""Smaller pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scaled(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Scales a picture down: each new pixel is the mean of the area that it covers, parts of pixels too.

    Args:
        picture: Of shape ``(height, width)`` or ``(height, width, 3)``, with no side shorter than ``size``.
        size: Both sides of the new picture.

    Returns:
        Of shape ``(size, size)`` or ``(size, size, 3)``; means are rounded to the nearest level.
    """
    rows = _shrunk(picture.astype(np.float32), size)
    both = _shrunk(rows.swapaxes(0, 1), size).swapaxes(0, 1)
    return np.ascontiguousarray(np.rint(both), np.uint8)


def _shrunk(levels: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Means over the first axis, from sums up to each edge: no matrix product, whose threads would be in the way."""
    length = len(levels)
    edges = np.arange(size + 1) * (length / size)
    whole = np.minimum(edges.astype(np.intp), length - 1)
    part = (edges - whole).astype(np.float32).reshape(-1, *[1] * (levels.ndim - 1))
    sums = np.zeros((length + 1, *levels.shape[1:]), np.float32)
    np.cumsum(levels, axis=0, out=sums[1:])
    means: NDArray[np.float32] = np.diff(sums[whole] + part * levels[whole], axis=0) * (size / length)
    return means
