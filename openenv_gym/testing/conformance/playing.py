"""Episodes that are played with the same actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from openenv_gym.testing.conformance.server import Frame, Session


def played(session: Session, actions: Iterable[dict[str, Any]], **keys: Any) -> Iterator[Frame]:
    """Plays, with a reset at the start and after each end of an episode.

    Args:
        session: Where.
        actions: What to step with.
        **keys: Of the first reset.

    Yields:
        What each step returned, without those that the environment refused.
    """
    session.reset(**keys)
    for action in actions:
        data = session.step(action)
        if data is None or data["done"]:
            session.reset()
        if data is not None:
            yield data


def trajectory(session: Session, actions: Iterable[dict[str, Any]], seed: int) -> list[Any]:
    """One seeded episode, as far as it goes: what can be compared of the reset and of each step.

    Metadata is left out: it may hold times and the like.
    """
    found = [_compared(session.reset(seed=seed))]
    for action in actions:
        data = session.step(action)
        found.append(None if data is None else _compared(data))
        if data is not None and data["done"]:
            break
    return found


def is_tool_reset(observation: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether it is the empty observation that openenv's tool environments return from a reset.

    What they declare is the observation of a call of a tool.

    Args:
        observation: The observation.
        schema: What is declared.
    """
    return not observation.keys() - {"metadata"} and "tool_name" in schema.get("properties", {})


def _compared(data: Frame) -> Any:
    fields = {name: value for name, value in data["observation"].items() if name != "metadata"}
    # As text, because no NaN equals another.
    return fields, str(data["reward"]), data["done"]
