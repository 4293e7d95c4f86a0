"""Every message of the standard wire, once, for both ends.

Requests are closed (an unknown key is refused) and replies are open: a later server's new field is no error.
Source: OpenEnv 0.10's wire as captured; see docs/architecture.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ResetRequest(_Request):
    """Starts an episode. ``data`` holds seed, episode_id and the environment's own reset options."""

    type: Literal["reset"] = "reset"
    data: dict[str, Any] = Field(default_factory=dict)


class StepRequest(_Request):
    """Takes a step. ``data`` is the action's own fields, not wrapped."""

    type: Literal["step"] = "step"
    data: dict[str, Any]


class StateRequest(_Request):
    """Asks for the environment's state."""

    type: Literal["state"] = "state"


class CloseRequest(_Request):
    """Ends the session. It has no reply."""

    type: Literal["close"] = "close"


class McpRequest(_Request):
    """Carries one JSON-RPC request to the session's tools."""

    type: Literal["mcp"] = "mcp"
    data: dict[str, Any]


Request: TypeAlias = ResetRequest | StepRequest | StateRequest | CloseRequest | McpRequest


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """A step request that was written already; equal ones may be one.

    Attributes:
        frame: The frame.
    """

    type: ClassVar[Literal["step"]] = "step"
    frame: str


AnyRequest: TypeAlias = Request | WrittenStep
"""What a client can send."""

REQUEST_TYPES: dict[str, type[Request]] = {
    "reset": ResetRequest,
    "step": StepRequest,
    "state": StateRequest,
    "close": CloseRequest,
    "mcp": McpRequest,
}
"""The request class of each ``type``."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


Reward: TypeAlias = bool | int | float | None
"""A reward as the wire carries it: its JSON type is kept, and null means that there is none."""


_REWARD_TYPES = (float, int, type(None), bool)


class WrongField(ValueError):
    """A field of a reply that is missing, or of another type than the wire's.

    Attributes:
        place: Where it stands.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(reason)
        self.place = place


class ObservationData:
    """What a reset or step returns: the observation's fields, the reward and the end of the episode.

    No model of pydantic's, as most of what is read on this wire is one of these.

    Args:
        fields: The reply's ``data``.

    Attributes:
        fields: All of it as it stood on the wire, with the keys that a later server adds.
        observation: The observation's fields.
        reward: The reward.
        done: Whether the episode is over.
        metadata: What the environment says beside it; see ``all_metadata``.

    Raises:
        WrongField: A field is missing or of another type; none is converted.
    """

    __slots__ = ("done", "fields", "metadata", "observation", "reward")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.observation: dict[str, Any] = fields.get("observation", ())
        self.reward: Reward = fields.get("reward")
        self.done: bool = fields.get("done", False)
        self.metadata: dict[str, Any] | None = fields.get("metadata")
        if type(self.observation) is not dict:
            raise WrongField("data.observation", "it is no object")
        if type(self.reward) not in _REWARD_TYPES:
            raise WrongField("data.reward", "it is neither a number nor a boolean nor null")
        if type(self.done) is not bool:
            raise WrongField("data.done", "it is no boolean")
        if self.metadata is not None and type(self.metadata) is not dict:
            raise WrongField("data.metadata", "it is neither an object nor null")

    @property
    def all_metadata(self) -> dict[str, Any]:
        """The metadata from wherever the server's version puts it: on top, inside the observation, nowhere."""
        if self.metadata is not None:
            return self.metadata
        inside = self.observation.get("metadata")
        return inside if isinstance(inside, dict) else {}


class ObservationReply:
    """Answers reset and step.

    Args:
        data: What it returns, as it stood on the wire.

    Raises:
        WrongField: It is no object, or one of its fields is wrong.
    """

    __slots__ = ("data",)
    type: ClassVar[Literal["observation"]] = "observation"

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise WrongField("data", "it is no object")
        self.data = ObservationData(data)


class StateReply(_Reply):
    """Answers state."""

    type: Literal["state"] = "state"
    data: dict[str, Any]


class McpReply(_Reply):
    """Answers mcp with a JSON-RPC response."""

    type: Literal["mcp"] = "mcp"
    data: dict[str, Any]


class ErrorData(_Reply):
    """What went wrong. Further keys depend on the code, such as ``errors`` or ``max_sessions``."""

    message: str = ""
    code: str = ""


class ErrorReply(_Reply):
    """Answers any request that failed, and refuses a session before the first request."""

    type: Literal["error"] = "error"
    data: ErrorData


OtherReply: TypeAlias = StateReply | McpReply | ErrorReply
Reply: TypeAlias = ObservationReply | OtherReply

OTHER_REPLY_TYPES: dict[str, type[OtherReply]] = {
    "state": StateReply,
    "mcp": McpReply,
    "error": ErrorReply,
}
"""The reply class of each ``type`` but ``observation``."""

ANSWER_OF: dict[type[AnyRequest], type[Reply] | None] = {
    ResetRequest: ObservationReply,
    StepRequest: ObservationReply,
    WrittenStep: ObservationReply,
    StateRequest: StateReply,
    McpRequest: McpReply,
    CloseRequest: None,
}
"""The reply that each request must be answered with, when it is not an error."""
