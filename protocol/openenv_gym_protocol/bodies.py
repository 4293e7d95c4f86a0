"""The HTTP bodies of the standard wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ResetKeys(BaseModel):
    """The keys of a reset that every transport checks the same way; others belong to the environment."""

    model_config = ConfigDict(extra="allow")

    seed: int | None = Field(default=None, ge=0, description="Random seed for reproducible episodes")
    episode_id: str | None = Field(default=None, max_length=255, description="Custom episode identifier")


class StepBody(BaseModel):
    """The body of ``POST /step``."""

    model_config = ConfigDict(extra="allow")

    action: dict[str, Any]
    timeout_s: float | None = Field(default=None, gt=0, description="The step's deadline, in seconds")
    request_id: str | None = Field(default=None, max_length=255)


class Health(BaseModel):
    """The body of ``GET /health``."""

    status: Literal["healthy", "unhealthy", "degraded"] = "healthy"


class Metadata(_Closed):
    """The body of ``GET /metadata``: all six keys are always there."""

    name: str
    description: str
    readme_content: str | None = None
    version: str | None = None
    author: str | None = None
    documentation_url: str | None = None


class Schemas(BaseModel):
    """The body of ``GET /schema``.

    The keys with a dash are this project's extensions; a server without them is read as one that says nothing
    about it.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    action: dict[str, Any]
    observation: dict[str, Any]
    state: dict[str, Any] = Field(default_factory=dict)
    reset_observation: dict[str, Any] | None = None
    spaces: Spaces | None = Field(default=None, alias="x-gymnasium-spaces")
    reset_options: dict[str, Any] | None = Field(default=None, alias="x-reset-options")
    info_keys: list[str] | None = Field(default=None, alias="x-info-keys")
    render_modes: list[str] | None = Field(default=None, alias="x-render-modes")
    render_fps: int | float | None = Field(default=None, alias="x-render-fps")
    """Pictures a second."""
    seeding: Seeding | None = Field(default=None, alias="x-openenv-gym")


class Spaces(BaseModel):
    """Exact spaces as data; see ``openenv_gym_protocol.gymnasium_spaces`` for the form."""

    model_config = ConfigDict(extra="allow")

    action: dict[str, Any]
    observation: dict[str, Any]


class Seeding(BaseModel):
    """What a server says of seeds. None means that it does not say."""

    model_config = ConfigDict(extra="allow")

    seeded_stream: bool | None = None
    """After a seeded reset, unseeded ones continue the environment's own random stream."""
    seed_supported: bool | None = None


class SplitBody(_Closed):
    """The body of ``POST /{env_name}/tasks`` and ``/num_tasks``."""

    split: str


class TaskBody(_Closed):
    """The body of ``POST /{env_name}/task``."""

    split: str
    index: int


class TaskRangeBody(_Closed):
    """The body of ``POST /{env_name}/task_range``."""

    split: str
    start: int | None = None
    stop: int | None = None


Schemas.model_rebuild()
