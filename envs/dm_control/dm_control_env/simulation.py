"""One task of dm_control's suite. The only module here that loads dm_control."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError, nearest

from dm_control_env.graphics import choose_backend, without_pictures
from dm_control_env.settings import Settings

RENDER_SHAPE = (480, 640)
"""Height and width of what ``render`` gives: what the suite's models have room for."""


@cache
def suite() -> tuple[Any, bool]:
    """The module ``dm_control.suite``, and whether there can be pictures.

    Raises:
        ConfigurationError: This interpreter does not have it, or not together with a MuJoCo that it can use.
    """
    # Silent about what its own models ask of MuJoCo.
    logging.getLogger("absl").setLevel(logging.ERROR)
    has_pictures = choose_backend()
    try:
        from dm_control import suite as found
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"dm_control's tasks need the packages dm_control and mujoco below 4, which {sys.executable} does not have "
            f'({error}): pip install dm_control "mujoco<4", or name an interpreter that has them.'
        ) from None
    return found, has_pictures


class Simulation:
    """A task that is being played.

    Its random numbers go on from episode to episode. It belongs to the thread that made it, as the pictures' graphics
    do; ``close`` has to run there too.

    Args:
        settings: Which task, and how.

    Attributes:
        seeds_model: Whether the task's model itself is made of random numbers, as lqr's is: a seed makes it anew.

    Raises:
        ConfigurationError: There is no such task or camera, or pictures are asked for where none can be.
    """

    def __init__(self, settings: Settings) -> None:
        self._suite, self.has_pictures = suite()
        self._settings = settings
        _check_task(self._suite.TASKS_BY_DOMAIN, settings)
        if not self.has_pictures and (settings.has_pixels or _draws_itself(settings)):
            raise ConfigurationError(f"{_what_draws(settings)} {without_pictures()}")
        self._random = np.random.RandomState()
        before = _position(self._random)
        self._env = self._load()
        self.seeds_model = _position(self._random) != before
        self._camera = self._camera_of(settings.camera)

    def reset(self, seed: int | None) -> Any:
        """Starts an episode; returns dm_control's time step.

        Args:
            seed: Starts the random numbers anew, as dm_control's ``task_kwargs={"random": seed}`` does.
        """
        if seed is not None:
            # In place: the task and its domain hold the same object.
            self._random.seed(_words(seed))
            if self.seeds_model:
                self.close()
                self._env = self._load()
        return self._env.reset()

    def step(self, action: NDArray[np.float64]) -> Any:
        """Takes one control step; returns dm_control's time step."""
        return self._env.step(action)

    def picture(self, height: int, width: int) -> NDArray[np.uint8]:
        """What the camera sees, of shape ``(height, width, 3)``.

        Raises:
            RuntimeError: There is nothing to draw with.
        """
        if not self.has_pictures:
            raise RuntimeError(without_pictures())
        pixels: NDArray[np.uint8] = self._env.physics.render(height, width, camera_id=self._camera)
        return pixels

    @property
    def action_spec(self) -> Any:
        """dm_control's bounds of the actuators."""
        return self._env.action_spec()

    @property
    def observation_spec(self) -> Mapping[str, Any]:
        """dm_control's description of its observations, by name and in order."""
        described: Mapping[str, Any] = self._env.observation_spec()
        return described

    @property
    def time(self) -> float:
        """The seconds that were simulated in the episode."""
        return float(self._env.physics.time())

    @property
    def timesteps(self) -> tuple[float, float]:
        """The seconds of a step of the physics, and of a control step."""
        return float(self._env.physics.timestep()), float(self._env.control_timestep())

    def close(self) -> None:
        """Frees the model and the graphics."""
        self._env.physics.free()

    def _load(self) -> Any:
        return self._suite.load(self._settings.domain, self._settings.task, task_kwargs={"random": self._random})

    def _camera_of(self, wanted: str | int) -> int:
        model = self._env.physics.model
        names = [str(model.id2name(number, "camera")) for number in range(model.ncam)]
        if isinstance(wanted, int) and -1 <= wanted < len(names):
            return wanted
        if wanted in names:
            return names.index(str(wanted))
        raise ConfigurationError(
            f"{self._settings.domain} has no camera {wanted!r} (DM_CONTROL_CAMERA). It has "
            f"{', '.join(f'{number}: {name}' for number, name in enumerate(names))}, and -1, the free one."
        )


def _check_task(known: Mapping[str, tuple[str, ...]], settings: Settings) -> None:
    if settings.domain not in known:
        raise ConfigurationError(
            f"dm_control's suite has no domain {settings.domain!r} (DM_CONTROL_DOMAIN). "
            f"{nearest(settings.domain, known)}"
        )
    tasks = known[settings.domain]
    if settings.task not in tasks:
        raise ConfigurationError(
            f"{settings.domain} has no task {settings.task!r} (DM_CONTROL_TASK). It has {', '.join(sorted(tasks))}."
        )


def _draws_itself(settings: Settings) -> bool:
    """Whether a task draws by itself: the terrain of this one is put into the graphics at each reset."""
    return (settings.domain, settings.task) == ("quadruped", "escape")


def _what_draws(settings: Settings) -> str:
    if settings.has_pixels:
        return f"DM_CONTROL_OBSERVATION={settings.observation} needs pictures."
    return f"The task {settings.task} of {settings.domain} needs graphics."


def _position(random: np.random.RandomState) -> tuple[bytes, int]:
    state: Any = random.get_state()
    return state[1].tobytes(), state[2]


def _words(seed: int) -> int | list[int]:
    """A seed as numpy's old generator takes it: seeds of more than 32 bits as several words."""
    if seed < 2**32:
        return seed
    return [seed >> shift & 0xFFFFFFFF for shift in range(0, seed.bit_length(), 32)]
