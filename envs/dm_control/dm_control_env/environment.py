"""A task of dm_control's suite as a session of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.bodies import Metadata
from openenv_gym_server.environment import Environment

from dm_control_env.models import DmControlAction, DmControlObservation, DmControlState
from dm_control_env.settings import Settings
from dm_control_env.simulation import RENDER_SHAPE, Simulation


class DmControlEnvironment(Environment[DmControlAction, DmControlObservation, DmControlState]):
    """One task, loaded when it is first reset.

    The reward is the task's own, summed over the control steps for which an action is held. An episode terminates where
    dm_control's last discount is 0, and is cut off where it is another: at the task's time limit. The same seed and
    actions give what dm_control gives for that seed; an unseeded reset goes on in the same random numbers.

    ``dm_control_env.serving.served`` makes the class for one task: with its settings, its spaces and its bounds.

    Attributes:
        settings: Which task, and how.
        low: The least number of each actuator, float64 of shape ``(actuators,)``.
        high: The greatest.
        observation_class: The model of observations.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    # A step may take milliseconds, during which MuJoCo lets other threads run; graphics belong to a thread.
    execution = "thread"
    seeded_stream = True
    info_keys: ClassVar[list[str] | None] = ["discount", "time"]
    render_modes: ClassVar[Sequence[str]] = ("rgb_array",)

    settings: ClassVar[Settings]
    low: ClassVar[NDArray[np.float64]]
    high: ClassVar[NDArray[np.float64]]
    observation_class: ClassVar[type[DmControlObservation]]

    def __init__(self) -> None:
        super().__init__()
        self._simulation: Simulation | None = None
        self._is_playing = False
        self._episode_id: str | None = None
        self._step_count = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None) -> DmControlObservation:
        """Starts an episode.

        Args:
            seed: Starts the random numbers anew; without one they go on, or start from entropy the first time.
            episode_id: The episode's name; by default a random one.
        """
        self._is_playing = False
        if self._simulation is None:
            self._simulation = Simulation(self.settings)
        begun = self._simulation.reset(seed)
        self._is_playing, self._episode_id, self._step_count = True, episode_id or str(uuid4()), 0
        return self._told(begun.observation, metadata=self._info(1.0))

    def step(self, action: DmControlAction, timeout_s: float | None = None) -> DmControlObservation:
        """Holds the actuators for a step.

        Raises:
            ValueError: A number is outside its bounds.
            RuntimeError: No episode is being played.
        """
        seen, reward, terminated, is_cut, metadata = self._step(action.values)
        if is_cut:
            metadata["truncated"] = True
        return self._told(seen, reward=reward, done=terminated or is_cut, metadata=metadata)

    def step_values(self, action: Any) -> tuple[Any, float | None, bool, bool, dict[str, Any]]:
        """The same without the models.

        Args:
            action: Float64 of shape ``(actuators,)``.

        Returns:
            The value of the observation space, the reward, terminated, truncated and the info.

        Raises:
            ValueError: A number is outside its bounds.
            RuntimeError: No episode is being played.
        """
        seen, reward, terminated, is_cut, info = self._step(action)
        return self._value(seen), reward, terminated, is_cut, info

    @property
    def state(self) -> DmControlState:
        """Where the episode stands."""
        simulation = self._simulation
        physics, control = (0.0, 0.0) if simulation is None else simulation.timesteps
        return DmControlState(
            episode_id=self._episode_id,
            step_count=self._step_count,
            domain_name=self.settings.domain,
            task_name=self.settings.task,
            time=0.0 if simulation is None else simulation.time,
            physics_timestep=physics,
            control_timestep=control,
            frame_skip=self.settings.frame_skip,
        )

    def render(self, mode: str | None = None) -> NDArray[np.uint8]:
        """Pictures the task, as its camera sees it.

        Args:
            mode: ``rgb_array``, which is the default.

        Returns:
            An array of uint8 of shape ``(480, 640, 3)``.

        Raises:
            ValueError: It is another mode.
            RuntimeError: There was no reset yet, or there is nothing to draw with.
        """
        if mode not in (None, "rgb_array"):
            raise ValueError(f"dm_control's tasks have no render mode {mode!r}; they have ['rgb_array'].")
        return self._loaded.picture(*RENDER_SHAPE)

    def close(self) -> None:
        """Frees the model and the graphics."""
        if self._simulation is not None:
            self._simulation.close()

    def get_metadata(self) -> Metadata:
        """What ``/metadata`` says."""
        name = f"{self.settings.domain}-{self.settings.task}"
        return Metadata(name=name, description=f"The task {name} of dm_control's suite", version="0.1.0")

    @property
    def _loaded(self) -> Simulation:
        if self._simulation is None:
            raise RuntimeError("No episode is being played: reset first.")
        return self._simulation

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        simulation = self._loaded
        if not self._is_playing:
            # dm_control would start an episode of its own accord.
            raise RuntimeError("The episode is over: reset first.")
        values = self._checked(action)
        reward = 0.0
        for _ in range(self.settings.frame_skip):
            stepped = simulation.step(values)
            reward += float(stepped.reward)
            if stepped.last():
                break
        self._step_count += 1
        is_over = bool(stepped.last())
        self._is_playing = not is_over
        terminated = is_over and stepped.discount == 0.0
        return stepped.observation, reward, terminated, is_over and not terminated, self._info(stepped.discount)

    def _checked(self, action: Any) -> NDArray[np.float64]:
        values = np.asarray(action, np.float64)
        if values.shape != self.low.shape:
            raise ValueError(f"values has the shape {values.shape}; there are {len(self.low)} actuators.")
        # Also of NaN this is not true. MuJoCo would clip the numbers and say nothing.
        if not ((values >= self.low) & (values <= self.high)).all():
            raise ValueError(outside(values.tolist(), self.low.tolist(), self.high.tolist()))
        return values

    def _info(self, discount: float) -> dict[str, Any]:
        return {"discount": float(discount), "time": self._loaded.time}

    def _value(self, seen: Any) -> Any:
        kind = self.settings.observation
        if kind == "dict":
            return {name: np.array(value, np.float64).reshape(-1) for name, value in seen.items()}
        if kind == "flat":
            return _vector(seen)
        return self._pixels() if kind == "pixels" else {"pixels": self._pixels(), "vector": _vector(seen)}

    def _told(self, seen: Any, **outcome: Any) -> DmControlObservation:
        told: dict[str, Any] = {}
        if self.settings.has_pixels:
            told["pixels"] = self._pixels()
        if self.settings.observation != "pixels":
            told["observations"] = {name: np.ravel(value).tolist() for name, value in seen.items()}
        if self.settings.observation in ("flat", "both"):
            told["vector"] = _vector(seen).tolist()
        return self.observation_class(**told, **outcome)

    def _pixels(self) -> NDArray[np.uint8]:
        side = self.settings.pixel_size
        return self._loaded.picture(side, side)


def outside(values: list[float], low: Sequence[float], high: Sequence[float]) -> str:
    """Says which number of an action is outside its bounds."""
    first = next(i for i, value in enumerate(values) if not low[i] <= value <= high[i])
    return f"values[{first}]={values[first]} is outside its bounds, {low[first]} to {high[first]}."


def _vector(seen: Any) -> NDArray[np.float64]:
    # In dm_control's own order, which is that of its flat_observation.
    return np.concatenate([np.ravel(value) for value in seen.values()]).astype(np.float64, copy=False)
