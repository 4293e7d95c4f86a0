"""Every message of the vector wire, once, for both ends: requests are told apart by ``op``, replies by ``re``.

The messages are open: a key that an end does not know is skipped, so that a later version may add one. What has to
hold between a message's keys, such as one seed for each lane, is checked when it is built and when it is read: the
constructors raise ValueError, the codec ProtocolFailure.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from openenv_gym_protocol.vector import rules
from openenv_gym_protocol.vector.structures import LARGEST_ID as LARGEST_ID
from openenv_gym_protocol.vector.structures import Batch as Batch
from openenv_gym_protocol.vector.structures import Column as Column
from openenv_gym_protocol.vector.structures import Count, Id, Lane, Seconds, Seed, Tally
from openenv_gym_protocol.vector.structures import Failure as Failure
from openenv_gym_protocol.vector.structures import Final as Final

SUBPROTOCOL = "openenv-gym.vector.v1"
"""What our client offers on ``/ws``. A server that does not select it is spoken to in the standard wire."""

TERMINATED, TRUNCATED, REWARD_MISSING, RESET_ROW, SEED_APPLIED, SEED_UNKNOWN = (1 << bit for bit in range(6))
"""The bits of a row's flags: how the episode ended, whether the environment gave no reward, whether the row is a
reset that autoreset made in place of a step, and whether the running episode depends on a seed that was sent
(applied, or not confirmed; neither bit: it does not)."""

UNREADABLE = -1
"""The id of the reply to a frame whose own id cannot be read."""


class _Request(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="op"):
    """What every request has.

    Attributes:
        id: Chosen by the client, unused so far on this link; every reply repeats it.
        ack: How many frames of the link the client has received: the server need not keep them any longer.
    """

    id: Id
    ack: Tally = 0


class Hello(_Request, tag="hello"):
    """The first request of a link.

    Attributes:
        client: The client's name and version, for logs.
        max_frame_bytes: The largest frame that the client accepts.
        resume: The client acknowledges what it receives, and may resume the link should its connection break.
    """

    client: str
    max_frame_bytes: Count
    resume: bool = False


class Resume(_Request, tag="resume"):
    """The first request of a connection that goes on with a link.

    Attributes:
        link: The secret of ``welcome``.
        epoch: Greater than in every earlier request to resume this link: of two that are on their way at once the
            later one holds.
    """

    link: str
    epoch: Count


class Open(_Request, tag="open"):
    """Asks for lanes, all of which or none are given.

    Attributes:
        lanes: How many.
        autoreset: ``NextStep``, ``SameStep`` or ``Disabled``.
        max_episode_steps: Steps after which the server truncates an episode; None for no limit.
        options: Reset options that every reset of these lanes has, autoresets too.
        render_mode: ``rgb_array``, ``ansi`` or None.
    """

    lanes: Count
    autoreset: str = "NextStep"
    max_episode_steps: int | None = None
    options: dict[str, Any] = {}
    render_mode: str | None = None


class Reset(_Request, tag="reset"):
    """Starts an episode in lanes.

    Attributes:
        lanes: Their numbers.
        seeds: One for each of them, or None to go on without.
        options: Go before the options of ``open`` this once.
        deadline: Seconds until the server gives up; None for the server's own limit.
    """

    lanes: list[Lane]
    seeds: list[Seed | None] | None = None
    options: dict[str, Any] | None = None
    deadline: Seconds | None = None

    def __post_init__(self) -> None:
        rules.distinct(self.lanes)
        rules.as_long("seeds", self.seeds, len(self.lanes))
        rules.seconds(self.deadline)


class Step(_Request, tag="step"):
    """Takes a step in lanes; in a lane whose episode is over, what its autoreset says.

    Attributes:
        lanes: Their numbers.
        actions: One for each of them.
        next_seeds: The seed that each lane uses if it resets by itself in this step, or None.
        deadline: Seconds until the server gives up; None for the server's own limit.
    """

    lanes: list[Lane]
    actions: Batch
    next_seeds: list[Seed | None] | None = None
    deadline: Seconds | None = None

    def __post_init__(self) -> None:
        rules.distinct(self.lanes)
        rules.as_long("actions", self.actions.values, len(self.lanes))
        rules.as_long("next_seeds", self.next_seeds, len(self.lanes))
        rules.seconds(self.deadline)


class _OfLanes(_Request):
    """A request that is made of each of some lanes.

    Attributes:
        lanes: Their numbers.
    """

    lanes: list[Lane]

    def __post_init__(self) -> None:
        rules.distinct(self.lanes)


class State(_OfLanes, tag="state"):
    """Asks for the environments' states."""


class Render(_OfLanes, tag="render"):
    """Asks for pictures or texts, as the lanes' render mode says."""


class Call(_OfLanes, tag="call"):
    """Calls a method of the environments, if it is one that they allow."""

    name: str
    args: list[Any] = []
    kwargs: dict[str, Any] = {}


class Get(_OfLanes, tag="get"):
    """Reads an attribute of the environments, if it is one that they allow."""

    name: str


class Set(_OfLanes, tag="set"):
    """Sets an attribute of the environments, if it is one that they allow.

    Attributes:
        values: One for each lane.
    """

    name: str
    values: list[Any]

    def __post_init__(self) -> None:
        rules.distinct(self.lanes)
        rules.as_long("values", self.values, len(self.lanes))


class Cancel(_Request, tag="cancel"):
    """Gives up a request.

    Lanes that have not answered it fail, as at a deadline; those that have are not touched. Of a request that is
    unknown or answered nothing is left to give up.

    Attributes:
        request: The id of the request.
    """

    request: Id


class Close(_OfLanes, tag="close"):
    """Ends lanes. Closing the connection ends those that are left."""


Request: TypeAlias = Hello | Resume | Open | Reset | Step | State | Render | Call | Get | Set | Cancel | Close


class _Reply(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="re"):
    """What every reply has.

    Attributes:
        id: The id of the request that it answers.
    """

    id: Annotated[int, msgspec.Meta(ge=UNREADABLE, le=LARGEST_ID)]


class Welcome(_Reply, tag="welcome"):
    """Answers hello.

    Attributes:
        server: The server's name and version, for logs.
        max_frame_bytes: The largest frame that the server accepts.
        max_lanes: How many lanes one connection may have.
        max_depth: How many arrays and maps a value may have inside each other.
        dtypes: The dtypes that columns may have.
        capabilities: What it can do besides reset, step, state and close: ``render``, ``call``, ``get``, ``set``,
            ``step_arrays``.
        schemas: What ``/schema`` answers.
        link: The secret by which a later connection proves that the link is its own; empty where it cannot resume.
        linger: How long the link waits for that after its connection broke, in seconds.
    """

    server: str
    max_frame_bytes: Count
    max_lanes: Count
    max_depth: Count
    dtypes: list[str]
    capabilities: list[str] = []
    schemas: dict[str, Any] = {}
    link: str = ""
    linger: Seconds = 0.0

    def __post_init__(self) -> None:
        rules.seconds(self.linger)


class Resumed(_Reply, tag="resumed"):
    """Answers resume.

    Attributes:
        received: How many frames of the link the server has received. Those after them have to be sent again.
    """

    received: Tally


class Opened(_Reply, tag="opened"):
    """Answers open.

    Attributes:
        lanes: The numbers of the new lanes.
        action_space: The space of one action as data, where the server states it.
        observation_space: The space of one observation as data, where the server states it.
        action_columns: Actions travel as columns, one for each leaf of the space; otherwise as values.
        observation_columns: Observations do.
        partial_steps: Some of the lanes may be stepped without the others.
        partial_resets: Some of the lanes may be reset without the others.
        autoreset_modes: The modes that these lanes could have had.
        render_modes: What ``render`` can give.
        callable_names: The names that ``call``, ``get`` and ``set`` allow.
        nonfinite_rewards: Rewards may be NaN or infinite; where they may not, such a reward is a fault of the server.
    """

    lanes: list[Lane]
    action_space: dict[str, Any] | None = None
    observation_space: dict[str, Any] | None = None
    action_columns: bool = False
    observation_columns: bool = False
    partial_steps: bool = True
    partial_resets: bool = True
    autoreset_modes: list[str] = msgspec.field(default_factory=lambda: ["NextStep", "SameStep", "Disabled"])
    render_modes: list[str] = []
    callable_names: list[str] = []
    nonfinite_rewards: bool = False

    def __post_init__(self) -> None:
        rules.distinct(self.lanes)


class Rows(_Reply, tag="rows"):
    """Answers reset and step, in one or several parts: a late lane keeps no other waiting.

    Attributes:
        lanes: The lanes that this part is about.
        observations: Their observations; None where there are no lanes.
        rewards: float64, little-endian, one for each lane.
        flags: One byte for each lane; see the bits of this module.
        infos: One for each lane; None where all are empty.
        final: In SAME_STEP, what the finished episodes ended with.
        failures: Lanes that failed. They are not in ``lanes``.
        more: Another part follows.
    """

    lanes: list[Lane]
    observations: Batch | None = None
    rewards: bytes = b""
    flags: bytes = b""
    infos: list[dict[str, Any]] | None = None
    final: Final | None = None
    failures: list[Failure] = []
    more: bool = False

    def __post_init__(self) -> None:
        count = len(self.lanes)
        _settled_once(self.lanes, self.failures)
        if (self.observations is None) != (count == 0):
            raise ValueError("observations belong to lanes, and lanes have observations")
        rules.as_long("observations", None if self.observations is None else self.observations.values, count)
        rules.as_long("rewards", self.rewards, count, 8)
        rules.as_long("flags", self.flags, count)
        rules.as_long("infos", self.infos, count)
        if self.final is not None and any(row >= count for row in self.final.rows):
            raise ValueError("final names a row that is not there")


class Values(_Reply, tag="values"):
    """Answers state, render, call, get and set: one value for each lane.

    Attributes:
        lanes: The lanes that succeeded.
        values: Their values.
        failures: The lanes that failed.
    """

    lanes: list[Lane]
    values: list[Any] = []
    failures: list[Failure] = []

    def __post_init__(self) -> None:
        _settled_once(self.lanes, self.failures)
        rules.as_long("values", self.values, len(self.lanes))


class Done(_Reply, tag="done"):
    """Answers close and cancel."""


class Refused(_Reply, tag="refused"):
    """Answers a request that failed as a whole: nothing was done."""

    failure: Failure


Reply: TypeAlias = Welcome | Resumed | Opened | Rows | Values | Done | Refused


def _settled_once(lanes: list[int], failures: list[Failure]) -> None:
    if not failures:
        rules.distinct(lanes)
        return
    failed = [failure.lane for failure in failures if failure.lane is not None]
    if len(failed) != len(failures):
        raise ValueError("a failure of no lane")
    rules.distinct([*lanes, *failed])
