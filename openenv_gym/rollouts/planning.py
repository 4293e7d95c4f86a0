"""Which episodes a run has: groups of them, each with one reset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.client.models import whole_seed
from openenv_gym.rollouts.episodes import Episode
from openenv_gym.rollouts.groups import Group


class Plan(Iterator[Episode]):
    """The episodes of a run, made as they are asked for: seeds may be endless.

    Args:
        seeds: One seed for each group; or
        resets: the keywords of each group's reset.
        group_size: How many episodes each group has.
        options: What every reset sends besides.

    Attributes:
        groups: The groups that were begun, by their number.
        count: How many episodes there are in all; None where that cannot be known.
        started: How many were asked for.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        seeds: Iterable[int] | None,
        resets: Iterable[Mapping[str, Any]] | None,
        group_size: int,
        options: Mapping[str, Any],
    ) -> None:
        if (seeds is None) is (resets is None):
            raise ConfigurationError("Give one of seeds= and resets=: they say which episodes are played.")
        if group_size < 1:
            raise ConfigurationError(f"group_size must be at least 1, not {group_size}.")
        given: Iterable[Any] = seeds if seeds is not None else resets or ()
        self._is_seeds = resets is None
        self._resets = iter(given)
        self._size = group_size
        self._options = dict(options)
        self._next: list[Episode] = []
        self.groups: dict[int, Group] = {}
        self.count = len(given) * group_size if isinstance(given, Sized) else None
        self.started = 0

    def __next__(self) -> Episode:
        if not self._next:
            self._begin_group(next(self._resets))
        self.started += 1
        return self._next.pop(0)

    def _begin_group(self, given: Any) -> None:
        keywords = {"seed": given} if self._is_seeds else dict(given)
        seed = keywords.pop("seed", None)
        seed = None if seed is None else whole_seed(seed)
        number = len(self.groups)
        self.groups[number] = Group(number, seed, self._size)
        self._next = [
            Episode(
                number=number * self._size + member,
                group=number,
                member=member,
                seed=seed,
                options={**self._options, **keywords},
            )
            for member in range(self._size)
        ]


def begun_anew(failed: Episode) -> Episode:
    """The next attempt at an episode, which keeps the failed ones."""
    earlier, failed.earlier = [*failed.earlier, failed], []
    told = {name: getattr(failed, name) for name in ("number", "group", "member", "seed", "options")}
    return dataclasses.replace(Episode(**told), attempt=failed.attempt + 1, earlier=earlier)
