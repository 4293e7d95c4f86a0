"""What can be done about a container that did not become ready, as far as its log tells."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openenv_gym_protocol.errors import ServerStartError

from openenv_gym.providers.docker.images import ImageFacts
from openenv_gym.providers.docker.options import DockerOptions

_FOREIGN = re.compile(r"exec format error", re.IGNORECASE)
_UNANSWERED = "answered nothing"
"""What `wait_until_ready` says of a server that took no connection, or none that led to it."""

_DENIED = re.compile(r"read-only file system|permission denied|operation not permitted", re.IGNORECASE)
_LISTENS_ON_LOOPBACK = re.compile(r"https?://(127\.0\.0\.1|localhost)\b")


def with_remedy(error: ServerStartError, options: DockerOptions, image: ImageFacts, port: int) -> ServerStartError:
    """The same error with what can be done about it in front of its message.

    Args:
        error: Why the server is not ready.
        options: What the request says.
        image: What it runs.
        port: Where the server was expected in the container.
    """
    found = list(_remedies(error, options, image, port))
    if not found:
        return error
    return ServerStartError(f"{' '.join(found)}\n{error.message}", logs=error.logs, exit_code=error.exit_code)


def _remedies(error: ServerStartError, options: DockerOptions, image: ImageFacts, port: int) -> Iterator[str]:
    if _FOREIGN.search(error.logs):
        yield (
            f"{image.name} says it is for {image.platform}, and the engine cannot run its program. Build or pull it "
            "for the engine's own platform, or install an emulator there."
        )
    elif options.is_strict and _DENIED.search(error.logs):
        yield (
            "The container runs hardened: nobody's user, no capabilities, only /tmp to write to. Give the folders it "
            'needs by tmpfs={"/folder": ""}, or run it by hardening="compat".'
        )
    if error.exit_code is None and _UNANSWERED in error.message:
        yield f"The server has to listen at 0.0.0.0:{port} in the container; port= names another port."
        if _LISTENS_ON_LOOPBACK.search(error.logs):
            yield "Its log names 127.0.0.1, which is out of reach there."
