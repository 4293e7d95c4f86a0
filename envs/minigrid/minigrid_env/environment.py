"""MiniGrid's and BabyAI's grids as sessions of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.bodies import Metadata
from openenv_gym_server.environment import Environment, truncated
from pydantic import Field

from minigrid_env.library import build
from minigrid_env.models import (
    MISSION_LENGTH,
    MiniGridAction,
    MiniGridImageObservation,
    MiniGridObservation,
    MiniGridState,
)
from minigrid_env.settings import DEFAULT_ID, View

_TILE = 8
"""Pixels of a cell's side in observations of pixels."""

Seen = MiniGridObservation | MiniGridImageObservation


def spaces_of(view: View, side: int = 7) -> dict[str, Any]:
    """The spaces as data.

    Args:
        view: What an observation is.
        side: The cells that the agent sees in a row.
    """
    pixels = side * _TILE if view == "rgb" else side
    image = {"type": "Box", "low": 0, "high": 255, "shape": [pixels, pixels, 3], "dtype": "uint8"}
    observation: dict[str, Any] = image
    if view == "dict":
        parts = {
            "direction": {"type": "Discrete", "n": 4, "start": 0},
            "image": image,
            "mission": {"type": "UnicodeText", "max_length": MISSION_LENGTH},
        }
        observation = {"type": "Dict", "spaces": parts}
    return {"action": {"type": "Discrete", "n": 7, "start": 0}, "observation": observation}


class MiniGridEnvironment(Environment[MiniGridAction, Seen, MiniGridState]):
    """One grid, laid out anew by every reset.

    The random numbers are minigrid's own: the same seed and actions give what they give without a server, and an
    unseeded reset goes on in the same stream. The reward is ``1 - 0.9 * steps / max_steps`` for a mission that is done,
    and 0 for every other step.

    ``environment_of`` makes the class for one id and view.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "inline"  # a step takes some hundred microseconds
    seeded_stream = True
    seed_supported = True
    spaces: ClassVar[dict[str, Any] | None] = spaces_of("dict")
    info_keys: ClassVar[list[str] | None] = ["steps_left"]
    render_modes: ClassVar[Sequence[str]] = ("rgb_array", "ansi")
    render_fps: ClassVar[float | None] = 10

    env_id: ClassVar[str] = DEFAULT_ID
    view: ClassVar[View] = "dict"

    def __init__(self) -> None:
        super().__init__()
        self._grid: Any = None
        self._own_limit = 0
        self._episode_id: str | None = None
        self._is_over = True

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        max_steps: Annotated[int, Field(ge=1, le=1_000_000)] | None = None,
        **options: Any,
    ) -> Seen:
        """Lays out a grid.

        Args:
            seed: Starts the random numbers anew; without one they go on, or start from entropy the first time.
            episode_id: The episode's name; by default a random one.
            max_steps: The step at which the episode is cut off, which the reward depends on too; by default the id's.
            **options: None are known; the server tells clients which there are.
        """
        if self._grid is None:
            self._grid = build(self.env_id)
            self._own_limit = int(self._grid.max_steps)
        self._is_over = True  # if what follows fails
        self._grid.max_steps = self._own_limit
        seen, _ = self._grid.reset(seed=seed)  # BabyAI's levels set their limit there
        if max_steps is not None:
            self._grid.max_steps = max_steps
        self._is_over, self._episode_id = False, episode_id or str(uuid4())
        return self._told(seen)

    def step(self, action: MiniGridAction, timeout_s: float | None = None, **options: Any) -> Seen:
        """Takes one action.

        Raises:
            RuntimeError: No episode is being played.
        """
        if self._is_over:
            raise RuntimeError("No episode is being played: reset first.")
        seen, reward, terminated, is_cut_off, _ = self._grid.step(action.action)
        self._is_over = bool(terminated or is_cut_off)
        told = self._told(seen, reward=float(reward), done=bool(terminated))
        return truncated(told) if is_cut_off and not terminated else told

    @property
    def state(self) -> MiniGridState:
        """The whole grid."""
        grid = self._grid
        if self._episode_id is None:
            return MiniGridState(env_id=self.env_id)
        carried = grid.carrying
        return MiniGridState(
            episode_id=self._episode_id,
            step_count=int(grid.step_count),
            env_id=self.env_id,
            mission=grid.mission,
            max_steps=int(grid.max_steps),
            agent=(int(grid.agent_pos[0]), int(grid.agent_pos[1])),
            carrying=None if carried is None else f"{carried.color} {carried.type}",
            grid=self.render("ansi"),
        )

    def render(self, mode: str | None = None) -> Any:
        """Pictures the whole grid, with what the agent sees in a lighter shade.

        Args:
            mode: ``rgb_array``, the default, or ``ansi``.

        Returns:
            An array of uint8 of 32 pixels a cell, of shape ``(height, width, 3)``; or two characters a cell.

        Raises:
            ValueError: It is neither.
            RuntimeError: There was no reset yet.
        """
        if self._episode_id is None:
            raise RuntimeError("There is nothing to picture: reset first.")
        if mode in (None, "rgb_array"):
            grid = self._grid
            return _pixels(grid.get_frame(highlight=grid.highlight, tile_size=grid.tile_size))
        if mode == "ansi":
            return f"{self._grid.pprint_grid()}\n"
        raise ValueError(f"The grid has no render mode {mode!r}; it has {list(self.render_modes)}.")

    def close(self) -> None:
        """Releases the grid."""
        if self._grid is not None:
            self._grid.close()

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        return Metadata(name=self.env_id, description=f"minigrid's {self.env_id}", version="0.1.0")

    def _told(self, seen: dict[str, Any], **outcome: Any) -> Seen:
        image: NDArray[np.uint8] = np.array(seen["image"], np.uint8)
        if self.view == "rgb":
            image = _pixels(self._grid.get_frame(tile_size=_TILE, agent_pov=True))
        outcome["metadata"] = {"steps_left": int(self._grid.max_steps - self._grid.step_count)}
        if self.view != "dict":
            return MiniGridImageObservation(image=image, **outcome)
        direction, mission = int(seen["direction"]), str(seen["mission"])
        return MiniGridObservation(image=image, direction=direction, mission=mission, **outcome)


def _pixels(frame: Any) -> NDArray[np.uint8]:
    return np.ascontiguousarray(frame, np.uint8)


def environment_of(env_id: str, view: View) -> type[MiniGridEnvironment]:
    """The environment of an id; a grid is built, and closed, to learn how far its agent sees.

    Args:
        env_id: One of the ids that minigrid registers.
        view: What an observation is.

    Raises:
        ConfigurationError: minigrid is not installed, or does not have it.
    """
    grid = build(env_id)
    side = int(grid.agent_view_size)
    grid.close()
    # Laying out a BabyAI level, or a wave function's, may take long.
    is_quick = env_id.startswith("MiniGrid-") and not env_id.startswith("MiniGrid-WFC")
    body = {
        "__doc__": MiniGridEnvironment.__doc__,
        "__module__": __name__,
        "execution": "inline" if is_quick else "thread",
        "env_id": env_id,
        "view": view,
        "spaces": spaces_of(view, side),
    }
    return type("MiniGridEnvironment", (MiniGridEnvironment,), body)
