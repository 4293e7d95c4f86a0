"""Finding an image on the engine, and fetching it where the request lets us."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from openenv_gym_protocol.errors import OpenEnvGymError, ProviderError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.engine import bad_image_name, engine_errors, has_remedy, refused, shown_address

if TYPE_CHECKING:
    from docker import DockerClient

_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_HOST = r"(?:[a-zA-Z0-9][a-zA-Z0-9.-]*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?"
    r"(?:@[a-zA-Z][a-zA-Z0-9+._-]*:[0-9a-fA-F]{32,})?|sha256:[0-9a-f]{64}"
)
_LONGEST_REFERENCE = 1024
_EXPOSED = re.compile(r"(\d+)/tcp")
_FORBIDDEN = re.compile(
    r"denied|unauthorized|authentication required|forbidden|no basic auth|HTTP 40[13]", re.IGNORECASE
)
_MISSING = re.compile(r"manifest unknown|not found|name unknown|HTTP 404", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """What has to be known of an image to run it.

    Attributes:
        name: What it was asked for by.
        id: Its id on the engine, ``sha256:...``.
        digest: Its name in a registry with the digest, ``name@sha256:...``; the id of one that was built here.
        user: The user it says it runs as; empty for root.
        port: The one TCP port it exposes. None: none, or several.
        platform: What it runs on, such as ``linux/amd64``.
    """

    name: str
    id: str
    digest: str
    user: str
    port: int | None
    platform: str


def check_image_name(name: str) -> None:
    """Refuses what is no image's name or id, and would lead elsewhere in the engine's interface.

    Raises:
        ConfigurationError: It is none.
    """
    if len(name) > _LONGEST_REFERENCE or _REFERENCE.fullmatch(name) is None:
        raise bad_image_name(name)


def facts_of(name: str, attributes: dict[str, Any]) -> ImageFacts:
    """Reads what an engine says of an image."""
    config = attributes.get("Config") or {}
    ports = [int(match[1]) for match in map(_EXPOSED.fullmatch, config.get("ExposedPorts") or {}) if match]
    return ImageFacts(
        name=name,
        id=attributes["Id"],
        digest=next(iter(attributes.get("RepoDigests") or []), attributes["Id"]),
        user=config.get("User") or "",
        port=ports[0] if len(ports) == 1 else None,
        platform="/".join(filter(None, (attributes.get(key) for key in ("Os", "Architecture", "Variant")))),
    )


def find_image(
    client: DockerClient,
    address: str,
    name: str,
    *,
    pull: Literal["missing", "always", "never"],
    platform: str | None,
    remedy: str,
    deadline: Deadline,
) -> ImageFacts:
    """Finds an image on the engine, after fetching it where ``pull`` says so.

    Args:
        client: The engine's client.
        address: The engine's address, for messages.
        name: The image's name, with a tag or a digest if need be.
        pull: When it is fetched.
        platform: The platform to fetch it for; None for the engine's own.
        remedy: What to do about an image that is missing and may not be fetched.
        deadline: Until when it must be there.

    Raises:
        ProviderError: It is not there, or its registry refuses it or cannot be reached; with the remedy.
    """
    found = None if pull == "always" else _local(client, address, name)
    if pull != "never" and (found is None or not _is_for(platform, found)):
        _fetch(client, address, name, platform, deadline)
        found = _local(client, address, name)
    if found is None:
        raise ProviderError(f"The engine at {shown_address(address)} has no image {name!r}. {remedy}")
    return found


def _is_for(platform: str | None, image: ImageFacts) -> bool:
    # What was asked for may leave the variant open.
    return platform is None or f"{image.platform}/".startswith(f"{platform}/")


def _local(client: DockerClient, address: str, name: str) -> ImageFacts | None:
    with engine_errors(address, f"The image {name} could not be looked up"):
        # By name; asking for one directly would make an error of one that is missing.
        from docker.errors import ImageNotFound

        try:
            return facts_of(name, client.images.get(name).attrs)
        except ImageNotFound:
            return None


def _fetch(client: DockerClient, address: str, name: str, platform: str | None, deadline: Deadline) -> None:
    failing = f"The image {name} could not be fetched"
    try:
        with engine_errors(address, failing):
            for said in _pulling(client, name, platform, deadline):
                if "error" in said:
                    raise refused(failing, str(said["error"]))
    except queue.Empty:
        raise ProviderError(f"{failing} within {deadline.seconds:g} s. Do it first: `docker pull {name}`.") from None
    except OpenEnvGymError as error:
        raise with_remedy(name, error) from error.__cause__


def _pulling(client: DockerClient, name: str, platform: str | None, deadline: Deadline) -> Iterator[dict[str, Any]]:
    """What the engine says while it fetches an image; ``queue.Empty`` when it has not done so in time."""
    said: queue.SimpleQueue[dict[str, Any] | Exception | None] = queue.SimpleQueue()

    def pull() -> None:
        try:
            # Not `images.pull`: it drops what goes wrong after the first answer.
            for each in client.api.pull(name, platform=platform, stream=True, decode=True):
                said.put(each)
            said.put(None)
        except Exception as error:
            said.put(error)

    # The SDK waits for ever for a registry that is silent.
    threading.Thread(target=pull, name=f"pull {name}", daemon=True).start()
    while (event := said.get(timeout=deadline.remaining())) is not None:
        if isinstance(event, Exception):
            raise event
        yield event


def with_remedy(name: str, error: OpenEnvGymError) -> OpenEnvGymError:
    """The error of an image that could not be fetched, with what can be done about it."""
    host, slash, _ = name.partition("/")
    registry = host if slash and (host == "localhost" or "." in host or ":" in host) else ""
    if _FORBIDDEN.search(error.message):
        login = f"docker login {registry}".strip()
        return ProviderError(f"{error.message} If the image exists, `{login}` gives this user the right to it.")
    if _MISSING.search(error.message):
        return ProviderError(f"{error.message} The registry has no image of that name and tag: check the spelling.")
    if has_remedy(error.message):
        return error
    return ProviderError(f"{error.message} With pull='never', an image that was built or loaded on the engine is used.")
