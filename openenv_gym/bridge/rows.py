"""From a reply to what Gymnasium returns for one lane."""

from __future__ import annotations

from typing import Any, NamedTuple

from openenv_gym_protocol.errors import UnexpectedReply
from openenv_gym_protocol.messages import ObservationReply, Reply, Reward

from openenv_gym.bridge.infos import InfoReader, is_truncated
from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.seeds import Seeds


class Row(NamedTuple):
    """One lane's observation and what came with it."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


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

    def read(self, interface: Interface, reply: Reply) -> Row:
        """Reads the reply to a reset or step.

        A missing reward is 0.0. ``done`` means that the episode terminated, unless the metadata says that it was
        truncated.

        Raises:
            InvalidObservation: The observation is outside the space.
            UnexpectedReply: It is no observation, or its reward is larger than any float.
        """
        if not isinstance(reply, ObservationReply):
            raise UnexpectedReply(f"The server sent a reply of type {reply.type!r} where an observation belongs.")
        data = reply.data
        metadata = data.all_metadata
        truncated = is_truncated(metadata)
        episode_id = metadata.get("episode_id")
        self.episode_id = episode_id if isinstance(episode_id, str) else None
        return Row(
            interface.decode_observation(data.observation),
            _number(data.reward),
            bool(data.done) and not truncated,
            truncated,
            self._infos.read(metadata, reward_missing=data.reward is None, seed_applied=self.seeds.applied),
        )


def _number(reward: Reward) -> float:
    try:
        return 0.0 if reward is None else float(reward)
    except OverflowError as error:
        raise UnexpectedReply("The server sent a reward that is larger than any float.") from error
