"""A container in the foreground: started as the provider starts them, its log followed, ended with this process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.requests import server_request
from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym_cli import output
from openenv_gym_cli.connecting import make_line
from openenv_gym_cli.images import pairs
from openenv_gym_cli.project import Project


def container_request(
    project: Project | None,
    target: str,
    *,
    options: Iterable[str],
    settings: Iterable[str],
    port: int | None,
    engine: str | None,
    token: str | None,
) -> ServerRequest:
    """What the provider is asked for.

    Args:
        project: What is served; None: an image.
        target: The image's name then.
        options: ``NAME=VALUE`` each; the values are JSON, or text.
        settings: ``NAME=VALUE`` each.
        port: Where it is published; None: anywhere.
        engine: The engine's address; None: the usual one.
        token: What it asks for; None: a random token.

    Raises:
        ConfigurationError: It cannot be; see ``DockerProvider.check``.
    """
    from openenv_gym.providers.docker import DockerProvider

    given: dict[str, Any] = {name: _value(text) for name, text in pairs("--option", options).items()}
    named = {"name": "docker", "host_port": port, "engine": engine}
    given |= {name: value for name, value in named.items() if value is not None}
    variables = pairs("--set", settings) | ({} if token is None else {TOKEN_VARIABLE: token})
    image = target.removeprefix("image:") if project is None else None
    request = server_request(
        path=None if project is None else project.folder, image=image, provider=given, settings=variables
    )
    DockerProvider().check(request)
    return request


def followed(request: ServerRequest) -> int:
    """Runs a container, says how to connect, and shows its log until it or this process ends.

    Returns:
        The container's exit code.

    Raises:
        ServerStartError, ProviderError: It could not be started.
    """
    from openenv_gym.providers.docker import DockerProvider
    from openenv_gym.providers.docker.inventory import follow_log

    options = dict(request.options)
    seconds = options.get("start_timeout") or Timeouts().start
    with output.progress("starting the container"):
        server = DockerProvider().start(request, Deadline(seconds))
    try:
        output.note(f"Container {server.container} runs {server.image_digest}. Ctrl-C ends it.")
        output.data(server.base_url)
        if server.token:
            output.data(f"export {TOKEN_VARIABLE}={shlex.quote(server.token)}")
        output.data(make_line(server.base_url, has_token=bool(server.token)))
        for line in follow_log(server.container, options.get("engine")):
            output.note(line)
        code = server.owner.exit_code(Timeouts().connect)
        output.error(f"The container has ended{'' if code is None else f' with exit code {code}'}.")
        return 1 if code is None else code or 1
    finally:
        server.stop()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if text[:1] in ("{", "[", '"'):
            raise ConfigurationError(f"--option: {text!r} is no JSON.") from None
        return text
