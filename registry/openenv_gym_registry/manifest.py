"""``openenv.yaml``: what an environment project says of itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import yaml
from openenv_gym_protocol.errors import ConfigurationError, nearest
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from openenv_gym_registry.yaml_lines import Lines, Where, read_yaml

MANIFEST_NAME = "openenv.yaml"

MAX_MANIFEST_BYTES = 2**18

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=96)]
GymnasiumId = Annotated[str, StringConstraints(pattern=r"^openenv/[A-Za-z0-9][\w.-]*-v(0|[1-9]\d*)$")]
AppPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SpacesBlock(_Closed):
    """The exact Gymnasium spaces as data; see ``openenv_gym_protocol.gymnasium_spaces`` for the form."""

    action: dict[str, Any]
    observation: dict[str, Any]


class ServerKeyword(BaseModel):
    """A keyword that is a setting of the server; its further keys are the JSON Schema of its values."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    variable: str = Field(description="The environment variable that has its value as JSON")


class _Described(_Closed):
    max_episode_steps: int | None = Field(default=None, gt=0, description="The time limit, in steps")
    reward_threshold: float | None = Field(default=None, description="The return at which it counts as solved")
    nondeterministic: bool = Field(default=False, description="Equal seeds and actions may end differently")
    spaces: SpacesBlock | None = None
    reset_options: dict[str, dict[str, Any]] = Field(default_factory=dict, description="A JSON Schema a name")
    info_keys: list[str] = Field(default_factory=list, description="Metadata keys that every reset and step sets")
    server_keywords: dict[str, str | ServerKeyword] = Field(
        default_factory=dict,
        description="Keywords that change the spaces, each with the server's variable for it, alone or beside its JSON "
        "Schema",
    )
    render_modes: list[str] = Field(default_factory=list, description="What it can be pictured as")
    render_fps: int | None = Field(default=None, gt=0, description="Pictures a second")


class VariantBlock(_Described):
    """A further id of the same project: what its server does with other settings."""

    description: str = ""
    settings: dict[str, str] = Field(description="The server's environment variables")


class GymnasiumBlock(_Described):
    """What Gymnasium needs to know before a server runs."""

    id: GymnasiumId | None = None
    seeded_stream: bool | None = None
    seed_supported: bool | None = None
    variants: dict[GymnasiumId, VariantBlock] = Field(default_factory=dict, description="Further ids")


class Manifest(BaseModel):
    """One project's manifest.

    ``x-openenv-gym`` holds what only this project reads; openenv's own tools pass it over. Other keys that are not
    known are kept, because openenv's projects carry their own; below ``x-openenv-gym`` they are refused.
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, populate_by_name=True)

    spec_version: int = 1
    name: Name
    version: str | None = None
    type: str | None = None
    runtime: str | None = None
    app: AppPath = "server.app:app"
    port: int = Field(default=8000, ge=1, le=65535)
    description: str = ""
    action: str | None = None
    observation: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    validation: dict[str, Any] | None = None
    gymnasium: GymnasiumBlock = Field(default_factory=GymnasiumBlock, alias="x-openenv-gym")

    @property
    def gymnasium_id(self) -> str:
        """The declared id, or one made of the name: ``my_game_env`` becomes ``openenv/MyGame-v0``."""
        return self.gymnasium.id or f"openenv/{camel_case(self.name)}-v0"

    def to_yaml(self) -> str:
        """The manifest as YAML, without what was never said."""
        plain = self.model_dump(by_alias=True, exclude_unset=True)
        return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def read_manifest(folder: str | Path) -> Manifest:
    """Reads a project's manifest.

    Args:
        folder: The project's folder.

    Raises:
        ConfigurationError: There is no manifest, or it is wrong; the message names the line and the field.
    """
    path = Path(folder) / MANIFEST_NAME
    try:
        with path.open("rb") as file:
            content = file.read(MAX_MANIFEST_BYTES + 1)
        text = content.decode("utf-8")
    except FileNotFoundError:
        raise ConfigurationError(
            f"{folder} is no environment project: it has no {MANIFEST_NAME}. A project is a folder with "
            f"{MANIFEST_NAME} and server/app.py."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    if len(content) > MAX_MANIFEST_BYTES:
        raise ConfigurationError(f"{path} has more than {MAX_MANIFEST_BYTES} bytes: that is no manifest.")
    return parse_manifest(text, origin=str(path))


def parse_manifest(text: str, *, origin: str = MANIFEST_NAME) -> Manifest:
    """Reads a manifest's text.

    Args:
        text: The YAML.
        origin: Where it comes from, for messages.

    Raises:
        ConfigurationError: It is no YAML, or says something wrong; the message names the line and the field.
    """
    value, lines = read_yaml(text, origin=origin)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{origin}: a manifest is a mapping of keys such as name and app.")
    try:
        return Manifest.model_validate(value)
    except ValidationError as error:
        raise ConfigurationError("\n".join(_faults(error, lines, origin))) from error


def camel_case(name: str) -> str:
    """A project's name as the name of a Gymnasium id: ``grid_world_env`` becomes ``GridWorld``."""
    words = [word for word in re.split(r"[_.\-]+", name) if word]
    if len(words) > 1 and words[-1].lower() == "env":
        words.pop()
    return "".join(word[0].upper() + word[1:] for word in words)


def _faults(error: ValidationError, lines: Lines, origin: str) -> list[str]:
    told = []
    for fault in error.errors(include_url=False):
        where = tuple(fault["loc"])
        field = ".".join(map(str, where))
        told.append(f"{origin}, line {lines.of(where)}: {field}: {_reason(fault['type'], where, fault['msg'])}")
    return told


_FORMS = {
    "id": "an id is openenv/, a name and a version, such as openenv/MyGame-v0; for another namespace call "
    'openenv_gym.register_local(path, id="mine/Game-v1")',
    "name": "a name has letters, digits and . _ - and begins with a letter or a digit, such as my_game",
    "app": "an app is a module and its attribute, such as server.app:app",
}
"""What each pattern asks for, in words."""


def _reason(kind: str, where: Where, message: str) -> str:
    if kind == "string_type":
        return f"{message} (write it in quotes)"
    if kind == "extra_forbidden":
        return f"there is no such key. {nearest(str(where[-1]), _block_at(where).model_fields)}"
    if kind == "string_pattern_mismatch":
        return _FORMS.get(str(where[-1]), _FORMS["id"])
    return message


def _block_at(where: Where) -> type[BaseModel]:
    around = where[:-1]
    if around[-1:] == ("spaces",):
        return SpacesBlock
    return VariantBlock if "variants" in around else GymnasiumBlock
