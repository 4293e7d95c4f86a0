"""Which dataset is asked for, and how it is made."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from openenv_gym_protocol.errors import InvalidAction, nearest

from reasoning_gym_env.library import LIBRARY, SHARING, library, own_chance
from reasoning_gym_env.steadying import steady_dataset

COMPOSITE = "composite"
"""The library's dataset that is made of others."""

LARGEST = 100_000

_TEXT = re.compile(r"(?!.*__)[\w .,-]{0,64}|[-+*/&|^<>=~%.,:; ]{1,3}")


@dataclass(frozen=True)
class Split:
    """The questions of one split: those of a dataset with this seed and size.

    A dataset makes its question i of the random numbers of seed + i. The seeds of the splits lie further apart than
    their sizes, so that no two of them share a number, in a composite of many datasets neither.
    """

    seed: int
    size: int


SPLITS = {
    "train": Split(1_000_000_000, 8000),
    "validation": Split(1_100_000_000, 1000),
    "test": Split(1_200_000_000, 1000),
}


@dataclass(frozen=True)
class Recipe:
    """A dataset, all but its seed.

    Attributes:
        name: The library's name of it.
        config: Its options.
        specs: What a composite is made of: mappings with ``name``, ``weight`` and ``config``.
        size: How many questions it has.
        seed: The library's seed; None where the environment draws it.
        split: The split that it is; empty for none.
    """

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    specs: tuple[dict[str, Any], ...] = ()
    size: int = 500
    seed: int | None = None
    split: str = ""

    def build(self, seed: int) -> Any:
        """Makes the dataset.

        Raises:
            InvalidAction: The library has none of that name, or refuses the options.
        """
        _check_name(self.name, "dataset_name")
        _check_config(self.name, self.config, "dataset_config")
        options: dict[str, Any] = {**self.config, "seed": seed, "size": self.size}
        if self.name == COMPOSITE:
            options["datasets"] = [_spec(spec, i) for i, spec in enumerate(self.specs)]
        try:
            with self.chance(seed):
                return steady_dataset(library().create_dataset(self.name, **options))
        except Exception as error:  # whatever the checks of a dataset raise
            given = f"dataset_specs: {list(self.specs)}" if self.specs else f"dataset_config: {self.config}"
            raise InvalidAction(f"{given} cannot be: {_line(error)}.") from error

    def chance(self, seed: int) -> AbstractContextManager[None]:
        """What a dataset and its questions are made in, so that the same seed makes the same ones."""
        names = {self.name, *(str(spec.get("name")) for spec in self.specs)}
        return own_chance(seed) if names & SHARING else nullcontext()


def recipe_of(
    name: str,
    config: Mapping[str, Any] | None,
    *,
    specs: Sequence[Mapping[str, Any]] | None,
    size: int | None,
    seed: int | None,
    split: str | None,
) -> Recipe:
    """Reads what a reset asks for.

    Args:
        name: The dataset's name.
        config: Its options.
        specs: What a composite is made of; None for another dataset.
        size: How many questions; None for 500, or the split's.
        seed: The library's seed; None for one that is drawn.
        split: A key of ``SPLITS``, or None.

    Raises:
        InvalidAction: These contradict each other, or there is no such split.
    """
    if (name == COMPOSITE) != bool(specs):
        raise InvalidAction(
            "dataset_specs: a composite is a list of one or more datasets such as "
            '[{"name": "leg_counting", "weight": 2}, {"name": "chain_sum"}], and other datasets have none.'
        )
    if specs and config:
        raise InvalidAction("dataset_config: the datasets of dataset_specs have a config each, and there is no other.")
    rest: dict[str, Any] = {"size": 500 if size is None else size, "seed": seed, "split": ""}
    if split is not None:
        if split not in SPLITS:
            raise InvalidAction(f"split: there is no {split!r}. {nearest(split, SPLITS)}")
        if size is not None or seed is not None:
            raise InvalidAction(f"split: {split!r} has a size and a dataset_seed of its own; name no others.")
        rest = {"size": SPLITS[split].size, "seed": SPLITS[split].seed, "split": split}
    return Recipe(name, dict(config or {}), tuple(dict(spec) for spec in specs or ()), **rest)


def _spec(given: Mapping[str, Any], position: int) -> Any:
    where = f"dataset_specs[{position}]"
    for key in given:
        if key not in ("name", "weight", "config"):
            raise InvalidAction(f"{where}: {key!r} is none of its keys. {nearest(key, ('name', 'weight', 'config'))}")
    name, weight, config = given.get("name"), given.get("weight", 1.0), given.get("config") or {}
    if not isinstance(name, str) or name == COMPOSITE:
        raise InvalidAction(f"{where}.name: {name!r} is no name of a dataset to make a composite of.")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e9:
        raise InvalidAction(f"{where}.weight: {weight!r} is no number greater than 0.")
    if not isinstance(config, dict):
        raise InvalidAction(f"{where}.config: {config!r} is no mapping of options.")
    _check_name(name, f"{where}.name")
    _check_config(name, config, f"{where}.config")
    return import_module(f"{LIBRARY}.composite").DatasetSpec(name=name, weight=float(weight), config=dict(config))


def _registered() -> dict[str, Any]:
    library()
    return dict(import_module(f"{LIBRARY}.factory").DATASETS)


def _check_name(name: str, where: str) -> None:
    known = _registered()
    if name not in known:
        close = get_close_matches(name, known, 3)
        near = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise InvalidAction(f"{where}: Reasoning Gym has no dataset {name!r}. {near}Known: {', '.join(sorted(known))}.")


def _check_config(name: str, config: Mapping[str, Any], where: str) -> None:
    takes = {each.name for each in dataclasses.fields(_registered()[name][1])} - {"seed", "size", "datasets"}
    for key in config:
        if key in ("seed", "size"):
            raise InvalidAction(f"{where}: {key!r} is an option of reset: dataset_seed= and size=.")
        if key not in takes:
            raise InvalidAction(f"{where}: {name} has no option {key!r}. {nearest(key, takes)}")
    _check_texts(dict(config), where)


def _check_texts(value: Any, where: str) -> None:
    """Refuses texts that could be more than names: the library computes some, and reads files that others name."""
    if isinstance(value, str) and not _TEXT.fullmatch(value):
        raise InvalidAction(
            f"{where}: {value!r:.80} is no text for a dataset's option. It may be an operator of up to three "
            "characters, or have up to 64 letters, digits, spaces and . , - _ without __."
        )
    if isinstance(value, dict):
        for key, each in value.items():
            _check_texts(key, where)
            _check_texts(each, where)
    elif isinstance(value, list | tuple):
        for each in value:
            _check_texts(each, where)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".")
