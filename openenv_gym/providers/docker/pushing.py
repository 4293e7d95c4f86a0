"""Pushing a built image to a registry, without the docker command."""

from __future__ import annotations

import re
from collections.abc import Callable

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.engine import engine_address, engine_errors, open_engine, refused, shown_address
from openenv_gym.providers.docker.images import check_image_name

_PUSH_SECONDS = 600.0
"""The longest silence of the engine; an upload may take as long as it goes on."""

_FORBIDDEN = re.compile(r"denied|unauthorized|authentication required|forbidden|no basic auth", re.IGNORECASE)


def push_image(tag: str, name: str, *, engine: str | None = None, on_output: Callable[[str], object] = str) -> str:
    """Gives an image on an engine another name, and pushes it to the registry of that name.

    Args:
        tag: What the image is called on the engine.
        name: What it is to be called, such as ``ghcr.io/owner/openenv-echo:0.1.0``.
        engine: The engine's address; None: the usual one.
        on_output: Called with each line of progress.

    Returns:
        The name with the digest that the registry knows it by, ``ghcr.io/owner/openenv-echo@sha256:...``.

    Raises:
        ConfigurationError: The name is no image's.
        ProviderError: There is no engine or no such image, or the registry cannot be reached or refuses it.
    """
    check_image_name(name)
    repository, _, version = name.rpartition(":")
    address, failing = engine_address(engine), f"The image could not be pushed as {name}"
    with open_engine(address, _PUSH_SECONDS) as client, engine_errors(address, failing):
        from docker.errors import ImageNotFound

        try:
            client.images.get(tag).tag(repository, version)
        except ImageNotFound as error:
            raise ProviderError(
                f"The engine at {shown_address(address)} has no image {tag}: `openenv build` makes it."
            ) from error
        digest = None
        for said in client.api.push(repository, tag=version, stream=True, decode=True):
            if "error" in said:
                raise _refused(failing, name, str(said["error"]))
            if "status" in said and "progress" not in said:
                on_output(" ".join(filter(None, (said.get("id"), said["status"]))))
            digest = (said.get("aux") or {}).get("Digest", digest)
    if digest is None:
        raise ProviderError(f"{failing}: the registry did not say what it got.")
    return f"{repository}@{digest}"


def _refused(failing: str, name: str, said: str) -> Exception:
    if _FORBIDDEN.search(said):
        host = name.partition("/")[0]
        return ProviderError(f"{failing}: {said.rstrip('.')}. `docker login {host}` with a user who may write there.")
    return refused(failing, said)
