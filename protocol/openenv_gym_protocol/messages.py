"""Every message of the standard wire, once, for both ends.

Requests are closed (an unknown key is refused) and replies are open: a later server's new field is no error.
Source: OpenEnv 0.10's wire as captured; see docs/architecture.md.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt


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


class ObservationData(_Reply):
    """What a reset or step returns: the observation's fields, the reward and the end of the episode."""

    observation: dict[str, Any]
    reward: StrictBool | StrictInt | StrictFloat | None = None
    done: StrictBool = False
    metadata: dict[str, Any] | None = None

    @property
    def all_metadata(self) -> dict[str, Any]:
        """The metadata from wherever the server's version puts it: on top, inside the observation, nowhere."""
        if self.metadata is not None:
            return self.metadata
        inside = self.observation.get("metadata")
        return inside if isinstance(inside, dict) else {}


class ObservationReply(_Reply):
    """Answers reset and step."""

    type: Literal["observation"] = "observation"
    data: ObservationData


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


Reply: TypeAlias = ObservationReply | StateReply | McpReply | ErrorReply

REPLY_TYPES: dict[str, type[Reply]] = {
    "observation": ObservationReply,
    "state": StateReply,
    "mcp": McpReply,
    "error": ErrorReply,
}
"""The reply class of each ``type``."""

ANSWER_OF: dict[type[Request], type[Reply] | None] = {
    ResetRequest: ObservationReply,
    StepRequest: ObservationReply,
    StateRequest: StateReply,
    McpRequest: McpReply,
    CloseRequest: None,
}
"""The reply that each request must be answered with, when it is not an error."""
