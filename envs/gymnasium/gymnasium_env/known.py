"""What no signature says of Gymnasium's own environments."""

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
        server_keywords: The constructor's numbers and flags that change the spaces, so that no reset may.
        is_short: Whether a step takes microseconds.
    """

    start_options: tuple[str, ...] = ()
    info_keys: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    server_keywords: tuple[str, ...] = ()
    is_short: bool = True


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


_POSITIONS = ("exclude_current_positions_from_observation",)
_CONTACTS = ("include_cfrc_ext_in_observation",)
_HUMANOID = ("include_cinert_in_observation", "include_cvel_in_observation", "include_qfrc_actuator_in_observation")

# The info of a step has more keys than that of a reset: those that both have.
_SIMULATED = {
    "LunarLander": Family(server_keywords=("continuous",), is_short=False),
    "LunarLanderContinuous": Family(server_keywords=("continuous",), is_short=False),
    "BipedalWalker": Family(is_short=False),
    "BipedalWalkerHardcore": Family(is_short=False),
    "CarRacing": Family(server_keywords=("continuous",), is_short=False),
    "HalfCheetah": Family(info_keys=("x_position",), server_keywords=_POSITIONS, is_short=False),
    "Ant": Family(
        info_keys=("x_position", "y_position", "distance_from_origin"),
        server_keywords=(*_POSITIONS, *_CONTACTS),
        is_short=False,
    ),
    "Hopper": Family(info_keys=("x_position", "z_distance_from_origin"), server_keywords=_POSITIONS, is_short=False),
    "Walker2d": Family(info_keys=("x_position", "z_distance_from_origin"), server_keywords=_POSITIONS, is_short=False),
    "Humanoid": Family(
        info_keys=("x_position", "y_position", "tendon_length", "tendon_velocity", "distance_from_origin"),
        server_keywords=(*_POSITIONS, *_HUMANOID, *_CONTACTS),
        is_short=False,
    ),
    "Swimmer": Family(
        info_keys=("x_position", "y_position", "distance_from_origin"), server_keywords=_POSITIONS, is_short=False
    ),
    "InvertedPendulum": Family(is_short=False),
    "InvertedDoublePendulum": Family(is_short=False),
    "Reacher": Family(is_short=False),
    "Pusher": Family(is_short=False),
}

# MuJoCo's environments before v5 have other keywords and infos.
_SOURCES = (
    (r"gymnasium\.envs\.(classic_control|toy_text)\.", _FAMILIES),
    (r"gymnasium\.envs\.(box2d\.|mujoco\.\w+_v5:)", _SIMULATED),
)


def family_of(spec: EnvSpec) -> Family | None:
    """What is known of an id, or None."""
    entry_point = spec.entry_point if isinstance(spec.entry_point, str) else ""
    if spec.namespace is not None:
        return None
    known = next((families for source, families in _SOURCES if re.match(source, entry_point)), {})
    return known.get(spec.name)
