"""What all lanes of one wire have in common, whichever it is: how they are reset, stepped and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from openenv_gym_protocol.autoreset import AutoresetMode

from openenv_gym.bridge.interface import Interface
from openenv_gym.bridge.lane_state import LaneState, LaneStates
from openenv_gym.bridge.lanes.answers import Answer, Ask
from openenv_gym.bridge.rows import Row, Rows
from openenv_gym.bridge.servers.server import Server
from openenv_gym.transports.base import Connection


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """How the lanes of one environment begin and end their episodes.

    Attributes:
        autoreset: What follows the end of one.
        max_steps: Steps after which one is truncated; None for no limit.
        options: Reset options that every reset has.
        render_mode: What ``render`` gives; None where nothing is rendered.
        takes_either_wire: Where a server cannot begin such lanes on the vector wire, the standard wire will do.
    """

    autoreset: AutoresetMode
    max_steps: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    render_mode: str | None = None
    takes_either_wire: bool = False


class AnyLane(Protocol):
    """One lane, on either wire. What it says is read by the caller's thread, whenever that likes."""

    @property
    def index(self) -> int:
        """Its place in the vector environment."""

    @property
    def session_id(self) -> str | None:
        """The client's name for its session."""

    @property
    def server(self) -> Server | None:
        """Where it is connected, or was."""

    @property
    def needs_connection(self) -> bool:
        """Whether it has to be connected before a reset."""

    @property
    def is_new_session(self) -> bool:
        """Whether the next reset is its session's first."""

    @property
    def is_unused(self) -> bool:
        """Whether it was never connected."""

    @property
    def connection(self) -> Connection | None:
        """What its requests are written to."""


class LaneGroup(Protocol):
    """The lanes that are asked and read in one way: those on the standard wire, or those of one vector link."""

    @property
    def keeps_episodes(self) -> bool:
        """Whether the server resets finished lanes by itself. Otherwise the caller does."""

    @property
    def is_divisible(self) -> bool:
        """Whether some lanes can be reset and stepped without the others."""

    def reset(
        self, seeds: Mapping[int, int | None], once: Mapping[str, Any] | None, timeout: float | None
    ) -> Sequence[Ask]:
        """Asks lanes to reset.

        Args:
            seeds: The seed of each, or None to send none.
            once: Reset options that go before those of all resets.
            timeout: Seconds that the caller will wait; None for ever.
        """

    def write(self, interface: Interface, actions: Mapping[int, Any], idle: Sequence[int]) -> Any:
        """Writes actions, before anything is sent or drawn.

        Args:
            interface: How they are written.
            actions: One for each of some lanes.
            idle: Those of them that will reset in this step: their actions are not looked at.

        Raises:
            InvalidAction: One is outside its space; the error names the lane.
        """

    def step(self, written: Any, next_seeds: Mapping[int, int], timeout: float | None) -> Sequence[Ask]:
        """Asks lanes to step.

        Args:
            written: What ``write`` returned.
            next_seeds: The seeds of those that may reset in this step, and are sent one.
            timeout: Seconds that the caller will wait; None for ever.
        """

    def read(self, interface: Interface, answers: Sequence[Answer], states: LaneStates) -> list[Rows]:
        """Reads answers to resets and steps, with an error for each lane whose row cannot be read."""

    def read_one(self, interface: Interface, answer: Answer, state: LaneState) -> Row:
        """Reads an answer of the only lane that was asked.

        Raises:
            OpenEnvGymError: It cannot be read.
        """
