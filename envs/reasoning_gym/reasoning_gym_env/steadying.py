"""Datasets whose questions would depend on the order of a set, which is another one in every process.

The same seed is to ask the same question in every server, so that their sets get an order.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any


class OrderedSet(set[Any]):
    """A set that is gone through in the order of its members' texts."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=str))

    def __sub__(self, other: Any) -> OrderedSet:
        return OrderedSet(super().__sub__(other))


class OrderedFrozenSet(frozenset[Any]):
    """The same, unchangeable."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=str))


def steady_modules() -> None:
    """Gives the modules of the library whose sets decide a question sets with an order.

    The names that they are known by there are replaced for these modules alone.
    """
    vars(import_module("reasoning_gym.games.knight_swap"))["frozenset"] = OrderedFrozenSet
    vars(import_module("reasoning_gym.algorithmic.word_ladder"))["set"] = OrderedSet
    polynomials = vars(import_module("reasoning_gym.algebra.polynomial_multiplication"))
    unordered = import_module("sympy.polys.monomials").itermonomials
    polynomials["itermonomials"] = lambda *arguments: sorted(unordered(*arguments), key=str)


def steady_dataset(dataset: Any) -> Any:
    """The same dataset, or composite of datasets, whose alphabet has an order if it is a set."""
    for each in (dataset, *getattr(dataset, "datasets", {}).values()):
        if isinstance(getattr(each, "letters", None), set):
            each.letters = OrderedSet(each.letters)
    return dataset


def steady_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """The same question; the variables of a polynomial, which are told after the answer, are in order."""
    metadata = entry.get("metadata") or {}
    if metadata.get("source_dataset") == "polynomial_multiplication":
        metadata["variables"] = sorted(metadata["variables"])
    return entry
