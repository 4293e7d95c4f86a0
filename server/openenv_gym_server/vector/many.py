"""The lanes of one environment that steps them all at once, in arrays: no Python for each lane, but where one fails.

The environment brought numpy; it is taken from there.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import ExecutionError, InvalidAction, OpenEnvGymError
from openenv_gym_protocol.vector.array_data import are_all, is_any
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.columns import Layout
from openenv_gym_protocol.vector.frames import RESET_ROW, REWARD_MISSING, TERMINATED, TRUNCATED, Column
from openenv_gym_protocol.vector.json_form import json_form
from openenv_gym_protocol.vector.lane_rules import never_begun, seed_bit

from openenv_gym_server.dispatch import Host
from openenv_gym_server.vector.lane import Member, ResetOrder, reporting, states_of
from openenv_gym_server.vector.offer import options_of
from openenv_gym_server.vector.parts import Observed, Part, ValuesPart, failure
from openenv_gym_server.vector.values import plain
from openenv_gym_server.vector_environment import VectorEnvironment, one_each

_TOGETHER = "One environment steps these lanes together, and another lane's step was refused: no step was taken."


class ManyDriver:
    """The lanes of one environment.

    Args:
        member: The lanes.
        mode: What follows the end of an episode.

    Attributes:
        member: As it was given.
        actions: The columns of an action.
    """

    def __init__(self, member: Member, mode: AutoresetMode) -> None:
        self.member = member
        self._mode = mode
        traits = member.offer.traits
        self.actions, self._observations = member.offer.require_layouts()
        self._limits = [each.limits(self._numpy) for each in self.actions.bounds()]
        self._seed_bit = seed_bit(traits.seed_supported)
        self._seeded_stream = bool(traits.seeded_stream)
        self._takes_seeds = member.offer.takes_next_seeds
        self._allow_nonfinite_reward = traits.allow_nonfinite_reward
        self._seed_flags = self._numpy.zeros(len(member.lanes), "uint8")
        self._over = self._numpy.zeros(len(member.lanes), "bool")
        self._begun = self._numpy.zeros(len(member.lanes), "bool")
        self._none = self._numpy.zeros(len(member.lanes), "bool")
        self._elapsed = self._numpy.zeros(len(member.lanes), "int64")
        self._is_sure = True
        self._positions = {lane: position for position, lane in enumerate(member.lanes)}
        self._all = self._numpy.arange(len(member.lanes), dtype="int64")

    @property
    def _numpy(self) -> Any:
        return sys.modules["numpy"]

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Part:
        """Starts episodes in some or all of the lanes."""
        positions = self._of(lanes)
        seeds = order.seeds or [None] * len(lanes)
        options = plain(options_of(self.member.options, order.options))
        told = await host.observe_arrays("reset", len(lanes), positions, list(seeds), options)
        self._over[positions] = False
        self._begun[positions] = True
        self._elapsed[positions] = 0
        self._note_begun(positions, seeds)
        with reporting(host):
            observed = _observed(self._observations, told.observations, len(lanes), told.infos)
        flags = self._seed_flags[positions].tobytes()
        return Part(lanes=lanes, observed=observed, rewards=bytes(8 * len(lanes)), flags=flags)

    async def step(
        self, host: Host, lanes: Sequence[int], columns: Sequence[Column], next_seeds: Sequence[int | None] | None
    ) -> Part:
        """Takes a step in some or all of the lanes; those whose episode is over reset as the environment does it.

        Args:
            host: Owns the environment.
            lanes: The lanes.
            columns: Their actions.
            next_seeds: The seed of each, should it reset by itself, or None.
        """
        arrays = self.actions.arrays(columns, len(lanes), self._numpy, are_checked=True)
        seeds = next_seeds or [None] * len(lanes)
        positions = self._of(lanes)
        bad = {} if self.member.offer.is_in_production else self._refused(arrays, positions)
        if not bad:
            return await self._stepped(host, lanes, positions, arrays, seeds)
        together = type(next(iter(bad.values())))(_TOGETHER)
        failures = [failure(bad.get(row, together), lane) for row, lane in enumerate(lanes)]
        good = [row for row in range(len(lanes)) if row not in bad]
        if not good or not self.member.offer.partial_steps:
            return Part(failures=failures)
        kept = [array[good] for array in arrays]
        part = await self._stepped(
            host, [lanes[row] for row in good], positions[good], kept, [seeds[row] for row in good]
        )
        part.failures += [failures[row] for row in sorted(bad)]
        return part

    async def _stepped(
        self,
        host: Host,
        lanes: Sequence[int],
        positions: Any,
        arrays: Sequence[Any],
        seeds: Sequence[int | None],
    ) -> Part:
        told_seeds = {"next_seeds": list(seeds)} if self._takes_seeds else {}
        actions = self.actions.assemble(arrays)
        was_sure, self._is_sure = self._is_sure, False
        # A copy: the environment's to change.
        told = await host.observe_arrays("step", len(lanes), actions, positions.copy(), **told_seeds)
        with reporting(host):
            due = self._due(positions) if was_sure else None
            return self._part(host, lanes, told, self._flags(told, positions, seeds, due))

    async def states(self, host: Host, lanes: Sequence[int]) -> ValuesPart:
        """Reads the state of the environment; the steps of each lane are counted here, where it does not say more."""
        state = await host.state()
        found = self.member.offer.traits.environment_class
        if getattr(found, "state", None) is not VectorEnvironment.state:
            return states_of(host, lanes, [state] * len(lanes))
        counts = self._elapsed[self._of(lanes)].tolist()
        return states_of(host, lanes, [{**state, "step_count": count} for count in counts])

    def _refused(self, arrays: Sequence[Any], positions: Any) -> dict[int, OpenEnvGymError]:
        """The rows that cannot be stepped, with why.

        An action outside its space is not looked at where the episode is over.
        """
        begun = self._begun[positions]
        inside = [each.inside(array) for each, array in zip(self._limits, arrays, strict=True)]
        if are_all(begun) and all(map(are_all, inside)):
            return {}
        outside = self._numpy.zeros(len(positions), "bool")
        for each in inside:
            outside |= ~each
        refused: dict[int, OpenEnvGymError] = {row: never_begun() for row in self._numpy.flatnonzero(~begun).tolist()}
        for row in self._numpy.flatnonzero(outside & begun & ~self._over[positions]).tolist():
            refused[row] = InvalidAction("The action is outside its space.")
        return refused

    def _part(self, host: Host, lanes: Sequence[int], told: Any, noted: tuple[Any, Any, Sequence[int]]) -> Part:
        rows = len(lanes)
        flags, rewards, final_rows = noted
        finite = self._numpy.isfinite(rewards)
        is_finite = are_all(finite)
        if self._allow_nonfinite_reward and not is_finite:
            # As null on the standard wire.
            flags |= (REWARD_MISSING * ~finite).astype("uint8")
            rewards = self._numpy.where(finite, rewards, 0.0)
            is_finite = True
        part = Part(
            lanes=lanes,
            observed=_observed(self._observations, told.observations, rows, told.infos),
            rewards=rewards.tobytes(),
            flags=flags.tobytes(),
        )
        if final_rows:
            part.final_rows = final_rows
            part.final = _observed(self._observations, told.final_observations, len(part.final_rows), told.final_infos)
        return part if is_finite else self._without(host, part, finite, told)

    def _of(self, lanes: Sequence[int]) -> Any:
        if tuple(lanes) == self.member.lanes:
            return self._all
        return self._numpy.array([self._positions[lane] for lane in lanes], "int64")

    def _due(self, positions: Any) -> Any:
        """The rows that have to be reset instead of stepped."""
        return self._over[positions] if self._mode is AutoresetMode.NEXT_STEP else self._none[: len(positions)]

    def _flags(
        self, told: Any, positions: Any, seeds: Sequence[int | None], due: Any
    ) -> tuple[Any, Any, Sequence[int]]:
        """Notes what was told of the episodes.

        Args:
            told: What ``step_arrays`` returned.
            positions: Whose rows they are.
            seeds: The seed of each, should it have reset by itself.
            due: The rows that had to be reset; None where that is not known.

        Returns:
            The flags, the rewards and the final rows.

        Raises:
            ExecutionError: They do not fit together.
        """
        rows = len(positions)
        final_rows = _final_rows(told.final_rows, rows)
        terminated = one_each("terminated", told.terminated, "bool", rows)
        truncated = one_each("truncated", told.truncated, "bool", rows)
        ended = terminated | truncated
        resets = self._none[:rows]
        if told.reset_rows is not None:
            resets = one_each("reset_rows", told.reset_rows, "bool", rows)
        if not (final_rows or is_any(ended) or is_any(resets) or (due is not None and is_any(due))):
            # Nothing began and nothing ended, as in most steps.
            self._over[positions] = False
            self._elapsed[positions] += 1
            self._is_sure = True
            return self._seed_flags[positions], one_each("rewards", told.rewards, "<f8", rows), ()
        begun = resets.copy()
        begun[final_rows] = True
        self._over[positions] = ended & ~begun
        self._elapsed[positions] = self._numpy.where(begun, 0, self._elapsed[positions] + 1)
        self._is_sure = True
        if begun.any():
            used = seeds if self._takes_seeds else [None] * rows
            self._note_begun(positions[begun], [seed for seed, is_begun in zip(used, begun, strict=True) if is_begun])
        flags = TERMINATED * (terminated & ~resets) + TRUNCATED * (truncated & ~resets) + RESET_ROW * resets
        rewards = one_each("rewards", told.rewards, "<f8", rows)
        flags = (flags + self._seed_flags[positions]).astype("uint8")
        self._check(flags, rewards, final_rows, due)
        return flags, rewards, final_rows

    def _check(self, flags: Any, rewards: Any, final_rows: Sequence[int], due: Any) -> None:
        resets = (flags & RESET_ROW) > 0
        if due is not None and (resets != due).any():
            # Unknown after a step that failed: the environment may have reset lanes in it.
            raise ExecutionError(
                f"step_arrays returned reset_rows that say that the lanes {_rows_of(self._numpy, resets)} were reset "
                f"instead of stepped, where in {self._mode} it had to be the lanes {_rows_of(self._numpy, due)}: those "
                "whose episode was over in NextStep, and none otherwise."
            )
        if rewards[resets].any():
            raise ExecutionError("step_arrays returned rewards other than 0.0 for lanes that it reset instead.")
        ended = self._numpy.flatnonzero(flags & (TERMINATED | TRUNCATED)).tolist()
        if sorted(final_rows) != (ended if self._mode is AutoresetMode.SAME_STEP else []):
            raise ExecutionError(
                f"step_arrays returned the final_rows {list(final_rows)!r:.200}, while the episodes of {ended!r:.200} "
                f"ended in {self._mode}: they have to be those in SameStep, and none otherwise."
            )

    def _note_begun(self, positions: Any, seeds: Sequence[int | None]) -> None:
        """Notes which of the episodes that began depend on a seed."""
        seeded = self._numpy.array([seed is not None for seed in seeds], "bool")
        kept = self._seed_flags[positions] if self._seeded_stream else 0
        self._seed_flags[positions] = self._numpy.where(seeded, self._seed_bit, kept)

    def _without(self, host: Host, part: Part, finite: Any, told: Any) -> Part:
        """The part with the lanes whose reward is not finite as failures."""
        good = finite.tolist()
        kept = [row for row, is_good in enumerate(good) if is_good]
        failures = [
            failure(host.report(ExecutionError(f"The reward is {told.rewards[row]!r}."), "step"), lane)
            for row, lane in enumerate(part.lanes)
            if not good[row]
        ]
        if not kept:
            return Part(failures=failures)
        finals = [place for place, row in enumerate(part.final_rows) if good[row]]
        remaining = Part(
            lanes=[part.lanes[row] for row in kept],
            observed=self._picked(told.observations, told.infos, kept),
            rewards=b"".join([part.rewards[8 * row : 8 * row + 8] for row in kept]),
            flags=bytes([part.flags[row] for row in kept]),
            failures=failures,
        )
        if finals:
            remaining.final_rows = [kept.index(part.final_rows[place]) for place in finals]
            remaining.final = self._picked(told.final_observations, told.final_infos, finals)
        return remaining

    def _picked(self, observations: Any, infos: Sequence[Mapping[str, Any]] | None, rows: Sequence[int]) -> Observed:
        layout = self._observations
        picked = layout.assemble([array[rows] for array in layout.take_apart(observations)])
        return _observed(layout, picked, len(rows), None if infos is None else [infos[row] for row in rows])


def _rows_of(numpy: Any, chosen: Any) -> str:
    return f"{numpy.flatnonzero(chosen).tolist()!r:.200}"


def _final_rows(found: Any, rows: int) -> list[int]:
    if isinstance(found, tuple) and not found:
        return []
    try:
        final = [operator.index(row) for row in found]
    except TypeError:
        raise ExecutionError(f"step_arrays returned final_rows that are no list of rows: {found!r:.200}.") from None
    if len(set(final)) < len(final) or not all(0 <= row < rows for row in final):
        raise ExecutionError(f"step_arrays returned final_rows {final!r:.200}, which are no different rows of {rows}.")
    return final


def _observed(layout: Layout, observations: Any, rows: int, infos: Sequence[Mapping[str, Any]] | None) -> Observed:
    written_infos: list[msgspec.Raw] | None = None
    if infos is not None and any(infos):
        if len(infos) != rows:
            raise ExecutionError(f"{len(infos)} infos came for {rows} lanes.")
        written_infos = [encode_value(json_form(dict(info))) for info in infos]
    return Observed(rows=rows, columns=layout.pack_batch(observations, rows), infos=written_infos)
