"""The tasks: each made from its split and its index alone, so that it is the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any

from openenv_gym_protocol.errors import InvalidAction, nearest

from tools_env.calculator import calculate
from tools_env.world import Value, World, str_of

SPLITS: Mapping[str, int] = MappingProxyType({"train": 1200, "validation": 120, "test": 120})
"""How many tasks each split has. The kinds take turns, so that each has as many as the others."""

_NOUNS: tuple[str, ...] = (
    "anchor",
    "basket",
    "candle",
    "desert",
    "engine",
    "forest",
    "garden",
    "harbor",
    "island",
    "jacket",
    "kettle",
)
_NOUNS += ("ladder", "mirror", "needle", "orchid", "pencil", "quarry", "ribbon", "saddle", "tunnel", "velvet", "wagon")
_COLOURS = ("amber", "blue", "copper", "green", "ivory", "red", "silver", "violet", "white", "yellow")


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be done, and what is there at the start.

    Attributes:
        split: Its split.
        index: Its place there.
        kind: One of ``KINDS``.
        text: What the agent is told.
        values: The store at the start.
        notes: The notes at the start.
        goal_values: What has to be in the store; a value counts as its text, so that 3, 3.0 and "3" are the same.
        goal_absent: Keys that must not be there.
        goal_notes: Notes that have to be there, but for spaces around them and at the ends of lines.
    """

    split: str
    index: int
    kind: str
    text: str
    values: Mapping[str, Value] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    goal_values: Mapping[str, Value] = field(default_factory=dict)
    goal_absent: tuple[str, ...] = ()
    goal_notes: Mapping[str, str] = field(default_factory=dict)

    def is_reached(self, world: World) -> bool:
        """Whether the values and notes are as the task wants them; others beside them do no harm."""
        return (
            not any(key in world.values for key in self.goal_absent)
            and all(
                key in world.values and str_of(world.values[key]).strip() == str_of(value)
                for key, value in self.goal_values.items()
            )
            and all(_lines(world.notes.get(title, "")) == _lines(text) for title, text in self.goal_notes.items())
        )

    def told(self) -> dict[str, Any]:
        """What a list of tasks says of it."""
        return {"split": self.split, "index": self.index, "kind": self.kind, "text": self.text}


def size_of(split: str) -> int:
    """How many tasks a split has.

    Raises:
        InvalidAction: There is no such split.
    """
    if split not in SPLITS:
        raise InvalidAction(f"split: there is no split {split!r}. {nearest(split, SPLITS)}")
    return SPLITS[split]


def task_at(split: str, index: int) -> Task:
    """A task.

    Raises:
        IndexError: The split has none at that place.
    """
    if not 0 <= index < size_of(split):
        raise IndexError(f"{split} has the tasks 0 to {size_of(split) - 1}, not {index}.")
    kind = KINDS[index % len(KINDS)]
    random = Random(f"openenv-gym tools 1: {split} {index}")
    return Task(split=split, index=index, kind=kind, **_MAKERS[kind](random))


def _calculate(random: Random) -> dict[str, Any]:
    expression, key = _expression(random, 3), _key(random)
    text = f"Compute {expression} and store the result under the key {key!r}."
    return {"text": text, "goal_values": {key: calculate(expression)}}


def _total(random: Random) -> dict[str, Any]:
    values = _numbers(random, random.randint(4, 8))
    chosen = random.sample(list(values), random.randint(2, len(values) - 1))
    text = f"Add up the values of the keys {_listed(chosen)}, and store the sum under the key 'total'."
    total = sum(values[key] for key in chosen)
    return {"text": text, "values": values, "goal_values": {"total": total, **values}}


def _copy(random: Random) -> dict[str, Any]:
    values = _numbers(random, random.randint(4, 7))
    chosen = random.sample(list(values), random.randint(2, 4))
    title = f"{random.choice(_COLOURS)} report"
    text = (
        f"Write a note with the title {title!r} that has the values of the keys {_listed(chosen)}, in this order, "
        "each on a line of its own and nothing else."
    )
    note = "\n".join(str(values[key]) for key in chosen)
    return {"text": text, "values": values, "goal_values": values, "goal_notes": {title: note}}


def _clean(random: Random) -> dict[str, Any]:
    kept = _numbers(random, random.randint(2, 5))
    gone = {f"tmp_{noun}": random.randrange(1000) for noun in random.sample(_NOUNS, random.randint(2, 5))}
    values = dict(sorted({**kept, **gone}.items(), key=lambda entry: entry[0].removeprefix("tmp_")))
    text = "Delete every key that begins with 'tmp_', and leave all others as they are."
    return {"text": text, "values": values, "goal_values": kept, "goal_absent": tuple(sorted(gone))}


def _find(random: Random) -> dict[str, Any]:
    nouns = random.sample(_NOUNS, 6)
    notes = {f"{colour} page": _sentence(nouns[at], random) for at, colour in enumerate(random.sample(_COLOURS, 5))}
    at, key = random.randrange(5), _key(random)
    text = f"One of the notes mentions the {nouns[at]}. Store the title of that note under the key {key!r}."
    return {"text": text, "notes": notes, "goal_values": {key: list(notes)[at]}, "goal_notes": notes}


def _rename(random: Random) -> dict[str, Any]:
    values = _numbers(random, random.randint(3, 6))
    old = random.choice(list(values))
    new = f"{random.choice(_COLOURS)}_{old}"
    text = f"Move the value of the key {old!r} to the key {new!r}, so that {old!r} is gone."
    goal = {**{key: value for key, value in values.items() if key != old}, new: values[old]}
    return {"text": text, "values": values, "goal_values": goal, "goal_absent": (old,)}


_MAKERS: Mapping[str, Callable[[Random], dict[str, Any]]] = {
    "calculate": _calculate,
    "total": _total,
    "copy": _copy,
    "clean": _clean,
    "find": _find,
    "rename": _rename,
}

KINDS = tuple(_MAKERS)
"""The kinds of tasks, in their turn."""


def _expression(random: Random, depth: int) -> str:
    if depth == 0:
        return str(random.randint(2, 99))
    left, right = _expression(random, depth - 1), _expression(random, random.randrange(depth))
    return f"({left} {random.choice('+-*')} {right})" if depth < 3 else f"{left} {random.choice('+-*')} {right}"


def _numbers(random: Random, count: int) -> dict[str, int]:
    return {noun: random.randint(10, 999) for noun in random.sample(_NOUNS, count)}


def _sentence(noun: str, random: Random) -> str:
    colour = random.choice(_COLOURS)
    return f"Today I saw the {noun}.\nIt was {colour}, and {random.randint(2, 60)} people stood around it."


def _key(random: Random) -> str:
    return f"{random.choice(_COLOURS)}_{random.choice(_NOUNS)}"


def _listed(keys: list[str]) -> str:
    return ", ".join(map(repr, keys[:-1])) + f" and {keys[-1]!r}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
