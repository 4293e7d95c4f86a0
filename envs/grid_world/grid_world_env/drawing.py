"""Pictures and texts of the grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, int]
"""Column and row, from the upper left corner."""

_GROUND, _LINE, _TARGET, _AGENT = (255, 255, 255), (200, 200, 200), (220, 60, 50), (40, 90, 200)


def picture(size: int, agent: Cell, target: Cell, *, cell: int) -> NDArray[np.uint8]:
    """The grid from above: the target a red square, the walker a blue disc.

    Args:
        size: The cells of one side.
        agent: Where the walker is.
        target: Where the target is.
        cell: The pixels of a cell's side, at least 4.

    Returns:
        Pixels of shape ``(size * cell, size * cell, 3)``.
    """
    pixels = np.full((size * cell, size * cell, 3), _GROUND, np.uint8)
    pixels[::cell] = _LINE
    pixels[:, ::cell] = _LINE
    _cell(pixels, target, cell)[:] = _TARGET
    center = np.arange(cell - 1) - (cell - 2) / 2
    disc = center[:, None] ** 2 + center[None, :] ** 2 <= (0.4 * cell) ** 2
    _cell(pixels, agent, cell)[disc] = _AGENT
    return pixels


def text(size: int, agent: Cell, target: Cell) -> str:
    """The grid as lines: ``A`` the walker, ``T`` the target, ``.`` the rest."""
    rows = [["."] * size for _ in range(size)]
    rows[target[1]][target[0]] = "T"
    rows[agent[1]][agent[0]] = "A"
    return "\n".join(map("".join, rows)) + "\n"


def _cell(pixels: NDArray[np.uint8], place: Cell, cell: int) -> NDArray[np.uint8]:
    """The inside of a cell, without the line at its upper and left edge."""
    column, row = place
    return pixels[row * cell + 1 : (row + 1) * cell, column * cell + 1 : (column + 1) * cell]
