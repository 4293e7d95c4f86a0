"""From a reply to what Gymnasium returns for one lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from openenv_gym_protocol.errors import OpenEnvGymError, UnexpectedReply
from openenv_gym_protocol.messages import ObservationReply, Reply, Reward

from openenv_gym.bridge.infos import InfoReader, is_truncated
from openenv_gym.bridge.interface import Interface
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
    """What a lane reports of a reset or step, beside its observation."""

    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    final: Final | None = None


@dataclass(kw_only=True)
class Rows:
    """What some lanes answered to a reset or step.

    Attributes:
        lanes: The lanes that succeeded; the lists below have one item for each.
        values: Their observations, or
        leaves: their observations as arrays.
        rewards: Their rewards.
        terminations: Whether their episodes terminated.
        truncations: Whether they were truncated.
        resets: Whether the row is a reset, with no reward and no flag of a step.
        infos: Their infos.
        finals: Of lanes that finished and began anew in this step: what the finished episode ended with.
        errors: The lanes that failed.
    """

    lanes: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    leaves: Leaves | None = None
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)
    resets: list[bool] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    finals: dict[int, Final] = field(default_factory=dict)
    errors: dict[int, OpenEnvGymError] = field(default_factory=dict)

    def add(self, lane: int, row: Row, *, is_reset: bool) -> None:
        """Adds the row of one lane, whose observation is a value."""
        self.lanes.append(lane)
        self.values.append(row.observation)
        self.rewards.append(row.reward)
        self.terminations.append(row.terminated)
        self.truncations.append(row.truncated)
        self.resets.append(is_reset)
        self.infos.append(row.info)


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
            UnexpectedReply: It is no observation, or its reward is larger than any float.
        """
        if not isinstance(reply, ObservationReply):
            raise UnexpectedReply(f"The server sent a reply of type {reply.type!r} where an observation belongs.")
        data = reply.data
        metadata = data.all_metadata
        truncated = is_truncated(metadata)
        return Row(
            interface.decode_observation(data.observation),
            _number(data.reward),
            bool(data.done) and not truncated,
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


def _number(reward: Reward) -> float:
    try:
        return 0.0 if reward is None else float(reward)
    except OverflowError as error:
        raise UnexpectedReply("The server sent a reward that is larger than any float.") from error
