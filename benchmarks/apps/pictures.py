"""Pictures of 84x84x4 bytes: as an array (our kit only), or as openenv's users send them, in base64 or as lists.

``BENCHMARK_PICTURES`` chooses: ``array``, ``base64`` or ``lists``.
"""

from __future__ import annotations

import base64
import os
from typing import Any

import numpy as np
from pydantic import ConfigDict

from benchmarks.apps.kit import EXECUTION, MAX_SESSIONS, Action, Environment, Observation, State, create_app
from benchmarks.apps.typed import ValueAction

SHAPE = (84, 84, 4)
FORM = os.environ.get("BENCHMARK_PICTURES", "array")

_PICTURES = np.random.default_rng(0).integers(0, 256, (16, *SHAPE), np.uint8)


class ArrayObservation(Observation):
    """The picture as it is."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    picture: np.ndarray[Any, np.dtype[np.uint8]]


class Base64Observation(Observation):
    """The picture's bytes as text."""

    picture: str


class ListsObservation(Observation):
    """The picture as lists of lists of lists."""

    picture: list[list[list[int]]]


_CLASSES: dict[str, type[Observation]] = {
    "array": ArrayObservation,
    "base64": Base64Observation,
    "lists": ListsObservation,
}


class PicturesEnvironment(Environment[Action, Observation, State]):
    """Shows one picture after the other; the first byte of each is the number of steps modulo 256."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = EXECUTION
    spaces = {  # noqa: RUF012  (openenv's Environment has no annotation for it)
        "action": {"type": "Discrete", "n": 2, "start": 0},
        "observation": {"type": "Box", "low": 0, "high": 255, "shape": list(SHAPE), "dtype": "uint8"},
    }

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        """Goes back to the first picture."""
        self._count = 0
        return self._shown()

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Goes on to the next picture."""
        self._count += 1
        return self._shown()

    def _shown(self) -> Observation:
        picture = _PICTURES[self._count % len(_PICTURES)].copy()
        picture[0, 0, 0] = self._count % 256
        return _CLASSES[FORM].model_validate({"picture": _written(picture), "reward": 1.0, "done": False})

    @property
    def state(self) -> State:
        """How many steps were taken."""
        return State(step_count=self._count)


def _written(picture: np.ndarray[Any, np.dtype[np.uint8]]) -> Any:
    if FORM == "base64":
        return base64.b64encode(picture.tobytes()).decode("ascii")
    return picture.tolist() if FORM == "lists" else picture


app = create_app(
    PicturesEnvironment, ValueAction, _CLASSES[FORM], env_name="pictures", max_concurrent_envs=MAX_SESSIONS
)
