"""What no signature says of Gymnasium's classic-control and toy-text environments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gymnasium.envs.registration import EnvSpec


@dataclass(frozen=True, kw_only=True)
class Family:
    """Environments of one class.

    Attributes:
        start_options: The numbers that its ``reset(options=)`` reads.
        info_keys: The keys of every info.
        attributes: What clients may read, and set where it is a number.
    """

    start_options: tuple[str, ...] = ()
    info_keys: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


_BOUNDS = ("low", "high")

_FAMILIES = {
    "CartPole": Family(
        start_options=_BOUNDS,
        attributes=("gravity", "masscart", "masspole", "total_mass", "length", "polemass_length", "force_mag", "tau"),
    ),
    "MountainCar": Family(start_options=_BOUNDS, attributes=("force", "gravity", "goal_position", "goal_velocity")),
    "MountainCarContinuous": Family(start_options=_BOUNDS, attributes=("power", "goal_position", "goal_velocity")),
    "Pendulum": Family(start_options=("x_init", "y_init"), attributes=("g", "m", "l", "dt", "max_torque")),
    "Acrobot": Family(start_options=_BOUNDS, attributes=("book_or_nips", "torque_noise_max")),
    "Blackjack": Family(attributes=("natural", "sab")),
    "FrozenLake": Family(info_keys=("prob",)),
    "FrozenLake8x8": Family(info_keys=("prob",)),
    "CliffWalking": Family(info_keys=("prob",)),
    "CliffWalkingSlippery": Family(info_keys=("prob",)),
    "Taxi": Family(info_keys=("prob", "action_mask")),
}


def family_of(spec: EnvSpec) -> Family | None:
    """What is known of an id, or None. A step of a known one takes microseconds."""
    entry_point = spec.entry_point if isinstance(spec.entry_point, str) else ""
    if spec.namespace is not None or not re.match(r"gymnasium\.envs\.(classic_control|toy_text)\.", entry_point):
        return None
    return _FAMILIES.get(spec.name)
