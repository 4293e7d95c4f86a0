"""From a reply to what Gymnasium returns for one lane."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from openenv_gym_protocol.errors import OpenEnvGymError, UnexpectedReply, copied
from openenv_gym_protocol.messages import ObservationData, ObservationReply, Reply, Reward
from openenv_gym_protocol.metadata import is_truncated

from openenv_gym.bridge.infos import InfoReader
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_sets import LaneSet, lanes_in
from openenv_gym.bridge.observations import Leaves
from openenv_gym.bridge.seeds import Seeds


class Row(NamedTuple):
    """One lane's observation and what came with it."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Final(NamedTuple):
    """What an episode ended with, in a step that began another."""

    observation: Any
    info: dict[str, Any]


class Result(NamedTuple):
    """What a lane reports of a reset or step, beside its observation.

    Attributes:
        reward: The reward.
        terminated: Whether the episode terminated.
        truncated: Whether it was truncated.
        info: The info.
        final: Of a lane that finished and began anew in this step: what the finished episode ended with.
        is_reset: Whether it is a reset, with no reward and no flag of a step.
    """

    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    final: Final | None = None
    is_reset: bool = False


class PlainRows(NamedTuple):
    """Steps, or resets in their place, with nothing to say of them but numbers: as arrays, with a row for each lane.

    Attributes:
        chosen: The lanes.
        others: A bit for each of them whose row is no such step, and means nothing here.
        rewards: float64, like the others perhaps a view of a frame.
        seed_applied: Integers, see ``seeds``.
        reward_missing: bool.
        terminated: A bit for each lane whose episode terminated,
        truncated: or was truncated,
        begun: or began.
    """

    chosen: LaneSet
    others: int
    rewards: NDArray[np.float64]
    seed_applied: NDArray[np.integer[Any]]
    reward_missing: NDArray[np.bool_]
    terminated: int = 0
    truncated: int = 0
    begun: int = 0

    @property
    def bits(self) -> int:
        """A bit for each lane that did so."""
        return self.chosen.bits & ~self.others


@dataclass(kw_only=True)
class Rows:
    """What some lanes answered to a reset or step.

    Attributes:
        lanes: The lanes that succeeded, without those of ``plain``.
        results: What each of them reports.
        plain: The lanes of which there is nothing to say but numbers, where they were told apart.
        values: The observations of ``lanes``, or
        leaves: all observations as arrays, where
        observed: are their lanes; None if they are ``lanes``.
        errors: The lanes that failed.
    """

    lanes: list[int] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    plain: PlainRows | None = None
    values: list[Any] = field(default_factory=list)
    leaves: Leaves | None = None
    observed: Sequence[int] | None = None
    errors: dict[int, OpenEnvGymError] = field(default_factory=dict)

    def add(self, lane: int, row: Row, *, is_reset: bool) -> None:
        """Adds the row of one lane, whose observation is a value."""
        self.lanes.append(lane)
        self.values.append(row.observation)
        self.results.append(Result(row.reward, row.terminated, row.truncated, row.info, is_reset=is_reset))


def failed_together(rows: Rows) -> Rows:
    """Rows of which some failed, with every lane as failed: with the first one's error, which names that lane."""
    error = rows.errors[min(rows.errors)]
    succeeded = [*rows.lanes, *(() if rows.plain is None else lanes_in(rows.plain.bits))]
    return Rows(errors={**{lane: copied(error) for lane in succeeded}, **rows.errors})


class RowReader:
    """Reads one lane's replies.

    Attributes:
        seeds: The lane's seeds.
        episode_id: The running episode's, where the environment's metadata says it.
    """

    def __init__(self) -> None:
        self.seeds = Seeds()
        self.episode_id: str | None = None
        self._infos = InfoReader()

    @property
    def is_bare(self) -> bool:
        """Whether a reply without metadata changes nothing here, and its info has no keys but the bridge's own."""
        return self.episode_id is None and not self._infos.keys

    def use(self, interface: Interface) -> None:
        """Takes up what the server says of seeds and infos."""
        self.seeds.seeding = interface.seeding
        if self._infos.keys != interface.info_keys:
            self._infos = InfoReader(interface.info_keys)

    def read(self, interface: Interface, reply: Reply, *, is_reset: bool) -> Row:
        """Reads the reply to a reset or step.

        A missing reward is 0.0. ``done`` means that the episode terminated, unless the metadata says that it was
        truncated.

        Args:
            interface: How the server's observations are read.
            reply: What the server answered.
            is_reset: Whether it answers a reset, which has no reward that could be missing.

        Raises:
            InvalidObservation: The observation is outside the space.
            UnexpectedReply: It is no observation, or its reward is no finite float.
        """
        if not isinstance(reply, ObservationReply):
            raise UnexpectedReply(f"The server sent a reply of type {reply.type!r} where an observation belongs.")
        return self.row(interface.decode_observation(reply.data.observation), reply.data, is_reset=is_reset)

    def row(self, observation: Any, data: ObservationData, *, is_reset: bool) -> Row:
        """Reads what stands beside an observation.

        Raises:
            UnexpectedReply: The reward is no finite float.
        """
        metadata = data.all_metadata
        truncated = is_truncated(metadata)
        return Row(
            observation,
            checked_reward(data.reward),
            data.done and not truncated,
            truncated,
            self.info(metadata, reward_missing=data.reward is None and not is_reset),
        )

    def info(self, metadata: Mapping[str, Any], *, reward_missing: bool) -> dict[str, Any]:
        """Makes the info of one reply from its metadata.

        Args:
            metadata: What the environment said beside the observation.
            reward_missing: Whether it answers a step and has no reward.
        """
        episode_id = metadata.get("episode_id")
        self.episode_id = episode_id if isinstance(episode_id, str) else None
        return self._infos.read(metadata, reward_missing=reward_missing, seed_applied=self.seeds.applied)


def checked_reward(reward: Reward) -> float:
    """A reward as a float; a missing one is 0.0.

    Raises:
        UnexpectedReply: It is NaN, infinite or larger than any float. Environments that allow such rewards have them
            sent as missing.
    """
    try:
        number = 0.0 if reward is None else float(reward)
    except OverflowError as error:
        raise UnexpectedReply("The server sent a reward that is larger than any float.") from error
    if not math.isfinite(number):
        raise UnexpectedReply(f"The server sent the reward {number}, which no episode's return could hold.")
    return number
