"""What a server serves: the environment class and the models of one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import ConfigurationError
from pydantic import AfterValidator, Field, create_model

from dm_control_env.environment import DmControlEnvironment, outside
from dm_control_env.models import (
    DictObservation,
    DmControlAction,
    DmControlObservation,
    PixelObservation,
    VectorObservation,
    VectorPixelObservation,
)
from dm_control_env.settings import ObservationKind, Settings
from dm_control_env.simulation import Simulation

_OBSERVATIONS: dict[ObservationKind, type[DmControlObservation]] = {
    "flat": VectorObservation,
    "dict": DictObservation,
    "pixels": PixelObservation,
    "both": VectorPixelObservation,
}


@dataclass(frozen=True)
class Served:
    """What ``create_app`` takes."""

    environment_class: type[DmControlEnvironment]
    action_class: type[DmControlAction]
    observation_class: type[DmControlObservation]


def served(settings: Settings) -> Served:
    """Loads the task that the settings name, to learn its spaces, and makes its classes.

    Raises:
        ConfigurationError: There is no such task or camera, pictures are asked for where none can be, or dm_control is
            missing.
    """
    simulation = Simulation(settings)
    try:
        action, seen = simulation.action_spec, simulation.observation_spec
        _, control = simulation.timesteps
    finally:
        simulation.close()
    low, high = (_spread(bound, action.shape) for bound in (action.minimum, action.maximum))
    body: dict[str, Any] = {
        "__doc__": DmControlEnvironment.__doc__,
        "__module__": __name__,
        "settings": settings,
        "low": low,
        "high": high,
        "observation_class": _OBSERVATIONS[settings.observation],
        "spaces": {"action": _box(low, high, action.dtype), "observation": _observation_space(settings, seen)},
        "render_fps": max(round(1 / (control * settings.frame_skip)), 1),
    }
    environment_class = type("ServedDmControlEnvironment", (DmControlEnvironment,), body)
    return Served(environment_class, _action_class(low, high), _OBSERVATIONS[settings.observation])


def _action_class(low: NDArray[np.float64], high: NDArray[np.float64]) -> type[DmControlAction]:
    least, most, count = low.tolist(), high.tolist(), len(low)

    def check(values: list[float]) -> list[float]:
        if not all(a <= value <= b for a, value, b in zip(least, values, most, strict=True)):
            raise ValueError(outside(values, least, most))
        return values

    described = Field(min_length=count, max_length=count, description=f"The actuators' numbers, from {least} to {most}")
    form: Any = Annotated[list[float], described, AfterValidator(check)]
    return create_model("DmControlAction", __base__=DmControlAction, values=(form, ...))


def _observation_space(settings: Settings, seen: Mapping[str, Any]) -> dict[str, Any]:
    side = settings.pixel_size
    pixels = {"type": "Box", "low": 0, "high": 255, "shape": [side, side, 3], "dtype": "uint8"}
    if settings.observation == "pixels":
        return pixels
    bounds = {name: _bounds_of(spec) for name, spec in seen.items()}
    if settings.observation == "dict":
        parts = {name: _box(*bounds[name], np.dtype(np.float64)) for name in sorted(bounds)}
        return {"type": "Dict", "spaces": parts}
    low, high = (np.concatenate([pair[side] for pair in bounds.values()]) for side in (0, 1))
    vector = _box(low, high, np.dtype(np.float64))
    return (
        vector if settings.observation == "flat" else {"type": "Dict", "spaces": {"pixels": pixels, "vector": vector}}
    )


def _bounds_of(spec: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if np.dtype(spec.dtype) != np.float64:
        raise ConfigurationError(f"The observation {spec.name} is of {spec.dtype}, which this project does not tell.")
    # A spec without bounds has neither attribute.
    low, high = getattr(spec, "minimum", -np.inf), getattr(spec, "maximum", np.inf)
    return _spread(low, spec.shape), _spread(high, spec.shape)


def _spread(bound: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.broadcast_to(np.asarray(bound, np.float64), shape).reshape(-1)


def _box(low: NDArray[np.float64], high: NDArray[np.float64], dtype: np.dtype[Any]) -> dict[str, Any]:
    return {
        "type": "Box",
        "low": _plain(low),
        "high": _plain(high),
        "shape": list(low.shape),
        "dtype": np.dtype(dtype).name,
    }


def _plain(bound: NDArray[np.float64]) -> Any:
    """Bounds as data: one number where all are equal, and infinity as text."""
    numbers = [value if np.isfinite(value) else str(value) for value in bound.tolist()]
    return numbers[0] if len(set(numbers)) == 1 else numbers
