"""A walk to a target on a square grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
from openenv_gym_server.environment import Environment
from pydantic import Field

from grid_world_env.drawing import Cell, picture, text
from grid_world_env.models import (
    GridWorldAction,
    GridWorldObservation,
    GridWorldPictureObservation,
    GridWorldState,
)

_MOVES = ((1, 0), (0, -1), (-1, 0), (0, 1))
"""Right, up, left, down, as changes of column and row."""

_IMAGE_CELL, _RENDER_CELL = 8, 64
"""Pixels of a cell's side, in observations and in what ``render`` gives."""


def spaces_of(size: int, *, has_picture: bool) -> dict[str, Any]:
    """The spaces of a grid as data."""
    place = {"type": "Box", "low": 0, "high": size - 1, "shape": [2], "dtype": "int64"}
    parts: dict[str, Any] = {"agent": place, "target": dict(place)}
    if has_picture:
        side = size * _IMAGE_CELL
        parts["image"] = {"type": "Box", "low": 0, "high": 255, "shape": [side, side, 3], "dtype": "uint8"}
    return {
        "action": {"type": "Discrete", "n": len(_MOVES), "start": 0},
        "observation": {"type": "Dict", "spaces": dict(sorted(parts.items()))},
    }


class GridWorldEnvironment(Environment[GridWorldAction, GridWorldObservation, GridWorldState]):
    """The walker and the target start in different random cells; the episode ends where they meet.

    A move against the edge stays where it is. The reward is 1 for the target and 0 for every other move. An unseeded
    reset goes on in the random stream of the last seeded one.

    Attributes:
        size: The cells of one side.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "inline"  # a step takes microseconds
    seeded_stream = True
    spaces: ClassVar[dict[str, Any] | None] = spaces_of(5, has_picture=False)
    info_keys: ClassVar[list[str] | None] = ["distance"]
    render_modes: ClassVar[Sequence[str]] = ("rgb_array", "ansi")
    render_fps: ClassVar[float | None] = 4
    remote_names: ClassVar[Sequence[str]] = ("size", "slip")
    settable_names: ClassVar[Sequence[str] | None] = ("slip",)

    size: ClassVar[int] = 5
    has_picture: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._slip = 0.0
        self._random: np.random.Generator | None = None
        self._agent: Cell = (0, 0)
        self._target: Cell = (0, 0)
        self._episode_id: str | None = None
        self._step_count = 0

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        slip: Annotated[float, Field(ge=0, le=1)] = 0.0,
        **options: Any,
    ) -> GridWorldObservation:
        """Places the walker and the target.

        Args:
            seed: Starts the random numbers anew; without one they go on, or start from entropy the first time.
            episode_id: The episode's name; by default a random one.
            slip: The chance that a move goes in a random direction.
            **options: None are known; the server tells clients which there are.
        """
        if seed is not None or self._random is None:
            self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        first, second = self._random.choice(self.size**2, 2, replace=False)
        self._agent, self._target = self._cell(int(first)), self._cell(int(second))
        self._episode_id, self._step_count, self.slip = episode_id or str(uuid4()), 0, slip
        return self._observation()

    def step(self, action: GridWorldAction, timeout_s: float | None = None, **options: Any) -> GridWorldObservation:
        """Takes one move.

        Raises:
            RuntimeError: No episode is being played.
        """
        random = self._playing()
        direction = action.direction
        if self.slip and random.random() < self.slip:
            direction = int(random.integers(len(_MOVES)))
        self._step_count += 1
        columns, rows = _MOVES[direction]
        last = self.size - 1
        self._agent = (
            min(max(self._agent[0] + columns, 0), last),
            min(max(self._agent[1] + rows, 0), last),
        )
        return self._observation(reward=float(self._agent == self._target))

    @property
    def slip(self) -> float:
        """The running episode's chance that a move goes in a random direction.

        Raises:
            ValueError: It was set to something else than a number from 0 to 1.
        """
        return self._slip

    @slip.setter
    def slip(self, value: float) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(f"slip is a chance, a number from 0 to 1, and not {value!r}.")
        self._slip = float(value)

    @property
    def state(self) -> GridWorldState:
        """The whole grid."""
        placed = self._random is not None
        return GridWorldState(
            episode_id=self._episode_id,
            step_count=self._step_count,
            size=self.size,
            slip=self.slip,
            agent=self._agent if placed else None,
            target=self._target if placed else None,
        )

    def render(self, mode: str | None = None) -> Any:
        """Pictures the grid.

        Args:
            mode: ``rgb_array``, the default, or ``ansi``.

        Returns:
            An array of uint8 of shape ``(64 * size, 64 * size, 3)``, or lines of text.

        Raises:
            ValueError: It is neither.
        """
        if mode in (None, "rgb_array"):
            return picture(self.size, self._agent, self._target, cell=_RENDER_CELL)
        if mode == "ansi":
            return text(self.size, self._agent, self._target)
        raise ValueError(f"The grid has no render mode {mode!r}; it has {list(self.render_modes)}.")

    def _playing(self) -> np.random.Generator:
        if self._random is None or self._agent == self._target:
            raise RuntimeError("No episode is being played: reset first.")
        return self._random

    def _observation(self, reward: float | None = None) -> GridWorldObservation:
        agent, target = self._agent, self._target
        told: dict[str, Any] = {
            "agent": agent,
            "target": target,
            "reward": reward,
            "done": agent == target,
            "metadata": {"distance": abs(agent[0] - target[0]) + abs(agent[1] - target[1])},
        }
        if not self.has_picture:
            return GridWorldObservation(**told)
        return GridWorldPictureObservation(**told, image=picture(self.size, agent, target, cell=_IMAGE_CELL))

    def _cell(self, number: int) -> Cell:
        return number % self.size, number // self.size


def environment_of(size: int, *, has_picture: bool) -> type[GridWorldEnvironment]:
    """The environment of a grid.

    Args:
        size: The cells of one side.
        has_picture: Whether observations have a picture.
    """
    body = {
        "__doc__": GridWorldEnvironment.__doc__,
        "__module__": __name__,
        "size": size,
        "has_picture": has_picture,
        "spaces": spaces_of(size, has_picture=has_picture),
    }
    return type("GridWorldEnvironment", (GridWorldEnvironment,), body)
