"""Models to values of the standard wire and back. Runs where the environment runs, never on the event loop."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from openenv_gym_protocol import json_codec
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.messages import Reward
from pydantic import BaseModel

from openenv_gym_server.plain_models import has_own, writes_plainly

_Function = TypeVar("_Function", bound=Callable[..., Any])

_BESIDE = {"reward", "done"}
_APART = frozenset({*_BESIDE, "metadata"})


class Result(msgspec.Struct, gc=False):
    """What a reset or step returned, taken apart as the wire carries it; a Struct, as every step makes one."""

    observation: Any
    """The fields, or the observation itself where it goes into columns or writes its JSON at once."""
    reward: Reward
    done: bool
    metadata: dict[str, Any] | None

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


def leaves_arrays(serialiser: _Function) -> _Function:
    """Says of a serialiser of a model's field that it leaves arrays of the space's dtype and shape as they are.

    That is, where the context has ``AS_COLUMNS``. Such arrays are then written without asking it, and nothing else is.
    """
    serialiser.leaves_arrays = True  # type: ignore[attr-defined]
    return serialiser


def take_apart(observation: Any, allow_nonfinite_reward: bool) -> Result:
    """Reads what an environment returned.

    Args:
        observation: What it returned.
        allow_nonfinite_reward: Whether its reward may be NaN or infinite.

    Raises:
        ExecutionError: It is not a pydantic model, or its reward is NaN or infinite and that is not allowed.
    """
    told = outcome_of(observation, allow_nonfinite_reward)
    return Result(fields_of(observation), told.reward, told.done, told.metadata)


def outcome_of(observation: Any, allow_nonfinite_reward: bool) -> Result:
    """What stands beside an observation, with the observation as it is; same errors as ``take_apart``."""
    kind = type(observation)
    if not is_model(kind):
        raise ExecutionError(
            f"The environment returned {kind.__name__} where an observation (a pydantic model) belongs."
        )
    reward = getattr(observation, "reward", None)
    if type(reward) is not float or not math.isfinite(reward):
        reward = checked_reward(reward, allow_nonfinite_reward)
    metadata = getattr(observation, "metadata", None)
    return Result(observation, reward, bool(getattr(observation, "done", False)), metadata or None)


def ready_to_write(observation: Any, allow_nonfinite_reward: bool) -> Result:
    """The same as ``take_apart``, but for observations that need not be taken apart for ``observation_frame``."""
    told = outcome_of(observation, allow_nonfinite_reward)
    kind: type[BaseModel] = type(observation)
    if told.metadata is None and writes_plainly(kind, _APART):
        return told
    return Result(fields_of(observation), told.reward, told.done, told.metadata)


def fields_of(observation: BaseModel, *, as_columns: bool = False) -> dict[str, Any]:
    """The fields of an observation, without those that travel beside it.

    Args:
        observation: The observation.
        as_columns: Whether they go into columns, and into no JSON.
    """
    context = {AS_COLUMNS: as_columns}
    if has_own(type(observation), "model_dump"):
        return observation.model_dump(exclude=_BESIDE, context=context)
    # What pydantic's model_dump does, in half of its time.
    fields: dict[str, Any] = observation.__pydantic_serializer__.to_python(
        observation, exclude=_BESIDE, context=context
    )
    return fields


def checked_reward(reward: Any, allow_nonfinite_reward: bool) -> Any:
    """The reward as it is sent: None in the place of one that is not finite, where that is allowed.

    Raises:
        ExecutionError: It is NaN or infinite and that is not allowed.
    """
    if _is_finite(reward):
        return reward
    if not allow_nonfinite_reward:
        raise ExecutionError(
            f"The environment returned the reward {reward!r}. Rewards must be finite; "
            "declare allow_nonfinite_reward = True to send it as null."
        )
    return None


class Left(enum.Enum):
    """What of a field's values is what ``fields_of`` has for it, since no serialiser changes it."""

    NOTHING = enum.auto()
    ARRAYS = enum.auto()
    NUMBERS = enum.auto()
    """Arrays and lists of them too."""


@functools.lru_cache(maxsize=256)
def left_as_it_is(kind: type[BaseModel], field: str) -> Left:
    """What of the values of a model's field is left as it is by its serialisers."""
    if field not in kind.model_fields or has_own(kind, "model_dump"):
        return Left.NOTHING
    schema: Any = kind.__pydantic_core_schema__
    while isinstance(schema, dict) and "serialization" not in schema and schema.get("type") != "model-fields":
        schema = schema.get("schema")
    found = schema["fields"].get(field) if isinstance(schema, dict) and "serialization" not in schema else None
    if found is None or "serialization_exclude" in found:
        return Left.NOTHING
    if not _has_serialiser(found):
        return Left.NUMBERS
    own = found.get("schema", {}).get("serialization", {}).get("function")
    return Left.ARRAYS if getattr(own, "leaves_arrays", False) else Left.NOTHING


def _has_serialiser(schema: Any) -> bool:
    if isinstance(schema, dict):
        # What a reference leads to is not looked at.
        is_hidden = "serialization" in schema or schema.get("type") == "definition-ref"
        return is_hidden or any(map(_has_serialiser, schema.values()))
    return isinstance(schema, list | tuple) and any(map(_has_serialiser, schema))


def _is_model(kind: type) -> bool:
    return issubclass(kind, BaseModel)


is_model: Callable[[type], bool] = functools.lru_cache(maxsize=256)(_is_model)
"""Whether a class is a pydantic model, which isinstance takes long to tell of an instance."""


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


def observation_frame(result: Result) -> str:
    """Writes the frame that answers a reset or step: metadata is repeated on top only when there is some.

    Args:
        result: As ``take_apart`` or ``ready_to_write`` made it, so that the reward is finite.

    Raises:
        ExecutionError: As ``to_json``.
    """
    # Around the fields, of which alone is not known what they hold, this takes half the time of writing it all.
    fields, reward, metadata = result.observation, result.reward, result.metadata
    written = _encoded(fields) if type(fields) is dict else json_codec.encode_model(fields, exclude=_BESIDE)
    return (
        f'{{"type":"observation","data":{{"observation":{written.decode()},'
        # A finite float is written by Python as JSON has it.
        f'"reward":{repr(reward) if type(reward) is float else to_json(reward)},'
        f'"done":{"true" if result.done else "false"}{_beside(metadata) if metadata else ""}}}}}'
    )


def _beside(metadata: dict[str, Any]) -> str:
    return f',"metadata":{to_json(metadata)}'


def to_json(value: Any) -> str:
    """Writes a value as the server sends it: NaN as null, numpy as lists.

    Raises:
        ExecutionError: The value holds something that JSON cannot carry, a lone surrogate in text among it: data
            is sent as it is or not at all.
    """
    return _encoded(value).decode()


def _encoded(value: Any) -> bytes:
    return json_codec.encode(value, non_finite="null")


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
