"""Models to values of the standard wire and back. Runs where the environment runs, never on the event loop."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.messages import Reward
from pydantic import BaseModel

_BESIDE = {"reward", "done"}


class Result(NamedTuple):
    """What a reset or step returned, taken apart as the wire carries it."""

    observation: dict[str, Any]
    reward: Reward
    done: bool
    metadata: dict[str, Any] | None

    def frame_data(self) -> dict[str, Any]:
        """The ``data`` of an observation frame: metadata is repeated on top only when there is some."""
        data = {"observation": self.observation, "reward": self.reward, "done": self.done}
        if self.metadata:
            data["metadata"] = self.metadata
        return data

    def body(self) -> dict[str, Any]:
        """The HTTP body: the reward is a float, and metadata is always there."""
        return {
            "observation": self.observation,
            "reward": None if self.reward is None else float(self.reward),
            "done": self.done,
            "metadata": self.metadata or None,
        }


AS_COLUMNS = "as_columns"
"""The key of pydantic's context that tells serialisers that no JSON is meant: arrays of pixels may stay arrays."""


def take_apart(observation: Any, *, allow_nonfinite_reward: bool, as_columns: bool = False) -> Result:
    """Reads what an environment returned.

    Args:
        observation: What it returned.
        allow_nonfinite_reward: Whether its reward may be NaN or infinite.
        as_columns: Whether the observation goes into columns, and into no JSON.

    Raises:
        ExecutionError: It is not a pydantic model, or its reward is NaN or infinite and that is not allowed.
    """
    if not isinstance(observation, BaseModel):
        raise ExecutionError(
            f"The environment returned {type(observation).__name__} where an observation (a pydantic model) belongs."
        )
    reward = getattr(observation, "reward", None)
    if not _is_finite(reward):
        if not allow_nonfinite_reward:
            raise ExecutionError(
                f"The environment returned the reward {reward!r}. Rewards must be finite; "
                "declare allow_nonfinite_reward = True to send it as null."
            )
        reward = None
    metadata = getattr(observation, "metadata", None)
    fields = observation.model_dump(exclude=_BESIDE, context={AS_COLUMNS: as_columns})
    return Result(fields, reward, bool(getattr(observation, "done", False)), metadata or None)


def _is_finite(reward: Any) -> bool:
    try:
        # Of everything that is a number: numpy's scalars and a Decimal have their NaN as well.
        return reward is None or math.isfinite(reward)
    except (OverflowError, TypeError, ValueError):
        return True  # no float at all, which is found where it has to be one


def state_data(state: Any) -> dict[str, Any]:
    """Reads an environment's state: a pydantic model or a mapping."""
    if isinstance(state, BaseModel):
        return state.model_dump()
    return dict(state) if state else {}


def to_json(value: Any) -> str:
    """Writes a value as the server sends it: NaN as null, numpy as lists.

    Raises:
        ExecutionError: The value holds something that JSON cannot carry, a lone surrogate in text among it: data
            is sent as it is or not at all.
    """
    return json_codec.encode(value, non_finite="null").decode()


def error_to_json(value: Any) -> str:
    """Writes what tells of an error, in whose text each lone surrogate stands as its escape.

    Exceptions quote file names and tools' output; their texts are for reading, and must arrive.

    Raises:
        ExecutionError: The value holds something else that JSON cannot carry.
    """
    try:
        return to_json(value)
    except ExecutionError:
        try:
            return to_json(without_surrogates(value))
        except RecursionError:
            # Without the cause: its traceback has a thousand lines and says no more.
            raise ExecutionError("The value is nested too deeply, or holds itself, and cannot be sent.") from None


def without_surrogates(value: Any) -> Any:
    """A copy of a value in whose text each lone surrogate stands as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [without_surrogates(item) for item in value]
    if isinstance(value, BaseModel):
        return without_surrogates(value.model_dump())
    return value
