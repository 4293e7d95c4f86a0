"""The lanes of one environment that steps them all at once, in arrays: no Python for each lane, but where one fails.

The environment brought numpy; it is taken from there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from openenv_gym_protocol.errors import ExecutionError
from openenv_gym_protocol.vector.codec import encode_value
from openenv_gym_protocol.vector.columns import Layout
from openenv_gym_protocol.vector.frames import RESET_ROW, SEED_APPLIED, SEED_UNKNOWN, TERMINATED, TRUNCATED

from openenv_gym_server.dispatch import Host
from openenv_gym_server.vector.lane import Member, ResetOrder, StepOrder, reporting
from openenv_gym_server.vector.offer import options_of
from openenv_gym_server.vector.parts import Observed, Part, failure
from openenv_gym_server.vector.values import plain


class ManyDriver:
    """The lanes of one environment.

    Args:
        member: The lanes.
    """

    def __init__(self, member: Member) -> None:
        self.member = member
        traits = member.offer.traits
        self._actions, self._observations = member.offer.require_layouts()
        supported = traits.seed_supported
        self._seed_bit = SEED_UNKNOWN if supported is None else SEED_APPLIED if supported else 0
        self._seeded_stream = bool(traits.seeded_stream)
        self._allow_nonfinite_reward = traits.allow_nonfinite_reward
        self._seed_flags = self._numpy.zeros(len(member.lanes), "uint8")
        self._positions = {lane: position for position, lane in enumerate(member.lanes)}

    @property
    def _numpy(self) -> Any:
        return sys.modules["numpy"]

    async def reset(self, host: Host, lanes: Sequence[int], order: ResetOrder) -> Part:
        """Starts episodes in some or all of the lanes."""
        positions = self._of(lanes)
        seeds = order.seeds or [None] * len(lanes)
        options = plain(options_of(self.member.options, order.options))
        told = await host.observe_arrays("reset", positions, list(seeds), options)
        with reporting(host):
            observed = _observed(self._observations, told.observations, len(lanes), told.infos)
        seeded = self._numpy.array([seed is not None for seed in seeds])
        kept = self._seed_flags[positions] if self._seeded_stream else 0
        flags = self._numpy.where(seeded, self._seed_bit, kept).astype("uint8")
        self._seed_flags[positions] = flags
        return Part(lanes=lanes, observed=observed, rewards=bytes(8 * len(lanes)), flags=flags.tobytes())

    async def step(self, host: Host, lanes: Sequence[int], order: StepOrder) -> Part:
        """Takes a step in some or all of the lanes; those whose episode is over reset as the environment does it."""
        rows = len(lanes)
        arrays = self._actions.arrays(order.actions, rows, self._numpy)
        told = await host.observe_arrays("step", self._actions.assemble(arrays), self._of(lanes))
        with reporting(host):
            return self._part(host, lanes, told)

    def _part(self, host: Host, lanes: Sequence[int], told: Any) -> Part:
        rows = len(lanes)
        rewards = self._vector(told.rewards, "<f8", rows)
        part = Part(
            lanes=lanes,
            observed=_observed(self._observations, told.observations, rows, told.infos),
            rewards=rewards.tobytes(),
            flags=self._flags(told, lanes).tobytes(),
        )
        if len(told.final_rows):
            part.final_rows = [int(row) for row in told.final_rows]
            part.final = _observed(self._observations, told.final_observations, len(part.final_rows), told.final_infos)
        finite = self._numpy.isfinite(rewards)
        return part if finite.all() or self._allow_nonfinite_reward else self._without(host, part, finite, told)

    def _of(self, lanes: Sequence[int]) -> Any:
        return self._numpy.array([self._positions[lane] for lane in lanes], "int64")

    def _flags(self, told: Any, lanes: Sequence[int]) -> Any:
        rows = len(lanes)
        terminated = self._vector(told.terminated, "bool", rows)
        truncated = self._vector(told.truncated, "bool", rows)
        resets = self._numpy.zeros(rows, "bool")
        if told.reset_rows is not None:
            resets |= self._vector(told.reset_rows, "bool", rows)
        begun = resets.copy()
        begun[list(told.final_rows)] = True
        positions = self._of(lanes)
        if not self._seeded_stream:
            self._seed_flags[positions[begun]] = 0
        flags = TERMINATED * (terminated & ~resets) + TRUNCATED * (truncated & ~resets) + RESET_ROW * resets
        return (flags + self._seed_flags[positions]).astype("uint8")

    def _vector(self, value: Any, dtype: str, rows: int) -> Any:
        array = self._numpy.asarray(value, dtype)
        if array.shape != (rows,):
            raise ExecutionError(f"step_arrays returned an array of shape {array.shape} where ({rows},) belongs.")
        return array

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


def _observed(layout: Layout, observations: Any, rows: int, infos: Sequence[Mapping[str, Any]] | None) -> Observed:
    written_infos: list[msgspec.Raw] | None = None
    if infos is not None and any(infos):
        if len(infos) != rows:
            raise ExecutionError(f"{len(infos)} infos came for {rows} lanes.")
        written_infos = [encode_value(dict(info)) for info in infos]
    return Observed(rows=rows, columns=layout.pack_batch(observations, rows), infos=written_infos)
