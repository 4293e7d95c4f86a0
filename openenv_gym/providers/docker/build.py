"""Builds the image of an environment project."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ConfigurationError, ImageBuildError

from openenv_gym.providers.docker.context import build_context, dockerfile_of
from openenv_gym.providers.docker.engine import engine_address, engine_errors, open_engine, refused
from openenv_gym.providers.docker.tags import project_tag
from openenv_gym.providers.docker.vendored import own_wheel

if TYPE_CHECKING:
    from docker import DockerClient

logger = logging.getLogger(__name__)

_BASE_IMAGE = "BASE_IMAGE"
_TOLD_LINES = 20
_TOLD_COMMAND = 200

_STEP = re.compile(r"Step (\d+)/\d+ : (.*)", re.DOTALL)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

# The builder's own remarks.
_REMARK = re.compile(r" ---> |Removing intermediate container ")

_REMEDIES = (
    (
        re.compile(r"No matching distribution|Temporary failure in name resolution|Could not resolve|SSLError"),
        "If the build reaches no package index: build_args={'PIP_INDEX_URL': ...} names another one, network='host' "
        "lets it use this machine's network, and with build_args={'PIP_NO_INDEX': '1'} the wheels in vendor/ do.",
    ),
    (
        re.compile(r"requires BuildKit"),
        "The docker command has BuildKit: `docker build -f server/Dockerfile -t <tag> .` in the project's folder.",
    ),
)
"""What often goes wrong in a build, and what can be done about it."""

_ABOUT_THE_BASE = "base_image= names an image to build on that the engine has or can fetch."


@dataclass(frozen=True)
class BuiltImage:
    """An image that was built.

    Attributes:
        tag: What it is called, with its tag.
        id: Its id on the engine, ``sha256:...``.
        size: Its size on the engine in bytes, with what it shares with other images.
    """

    tag: str
    id: str
    size: int


def build_image(
    path: str | Path,
    *,
    tag: str | None = None,
    base_image: str | None = None,
    build_args: Mapping[str, str] | None = None,
    platform: str | None = None,
    network: str | None = None,
    engine: str | None = None,
    wheels: Iterable[str | Path] = (),
    on_output: Callable[[str], None] | None = None,
) -> BuiltImage:
    """Builds the image of an environment project by the engine's own builder, without the ``docker`` command.

    An openenv-gym that does not come from a package index is given to the build as a wheel in ``vendor/``. Nothing is
    written into the project's folder.

    Args:
        path: The project's folder; its ``server/Dockerfile``, else its ``Dockerfile``, is built.
        tag: What the image is called; None: ``openenv-<name>:<version>``, see ``image_tag``.
        base_image: The build argument ``BASE_IMAGE``: what it is built on. None: as the Dockerfile says.
        build_args: More build arguments.
        platform: What it is to run on, such as ``"linux/arm64"``; None: the engine's own.
        network: The network of the build's commands, such as ``"host"``; None: the engine's default.
        engine: The engine's address; None: as ``DOCKER_HOST`` or the docker command's context says.
        wheels: Wheels for ``vendor/``, besides our own.
        on_output: Called with each line of the build's output as it comes. None: the lines are logged, as DEBUG.

    Raises:
        ImageBuildError: A step failed; the message has the step and the last lines of its output.
        ConfigurationError: The folder is no project, has no Dockerfile or a link that leads out of it, or a value
            is refused.
        ProviderError: No engine answers, it cannot read the Dockerfile, or our own wheel cannot be made here.
    """
    if not isinstance(path, str | Path):
        raise ConfigurationError(f"path must name an environment project's folder, not {path!r:.80}.")
    if build_args is not None and not isinstance(build_args, Mapping):
        raise ConfigurationError(f"build_args must be a mapping, as {{'NAME': 'value'}}, not {build_args!r:.80}.")
    folder = Path(path).expanduser().resolve()
    dockerfile = dockerfile_of(folder)
    name = tag or project_tag(folder)
    arguments = dict(build_args or {})
    if base_image is not None:
        arguments[_BASE_IMAGE] = base_image
    address = engine_address(engine)
    with open_engine(address) as client, build_context(folder, _vendored(wheels)) as context:
        _refuse_a_bad_tag(name)
        output = _Output(name, on_output or logger.debug)
        with engine_errors(address, f"The image {name} could not be built"):
            for said in _building(client, context, name, dockerfile, arguments, platform, network):
                output.take(said)
            found = client.images.get(output.image_id or name)
    return BuiltImage(name, str(found.id), int(found.attrs["Size"]))


def _refuse_a_bad_tag(tag: str) -> None:
    # Here: the SDK is there once the engine was opened.
    from docker.utils import match_tag

    if not match_tag(tag):
        raise ConfigurationError(f"No image can be called {tag!r}: a tag is lower case, such as openenv-echo:0.1.0.")


def _vendored(wheels: Iterable[str | Path]) -> Sequence[Path]:
    given = [Path(wheel).expanduser().absolute() for wheel in wheels]
    if missing := [str(wheel) for wheel in given if wheel.suffix != ".whl" or not wheel.is_file()]:
        raise ConfigurationError(f"wheels= must name wheels' files, which this is not: {missing[0]}.")
    own = own_wheel()
    if own is None or any(wheel.name.startswith("openenv_gym-") for wheel in given):
        return given
    return [own, *given]


def _building(
    client: DockerClient,
    context: IO[bytes],
    tag: str,
    dockerfile: str,
    arguments: dict[str, str],
    platform: str | None,
    network: str | None,
) -> Iterable[dict[str, Any]]:
    return client.api.build(
        fileobj=context,
        custom_context=True,
        tag=tag,
        dockerfile=dockerfile,
        buildargs={name: str(value) for name, value in arguments.items()},
        platform=platform,
        network_mode=network,
        rm=True,
        # A command that failed leaves no container either.
        forcerm=True,
        decode=True,
        # A command may be silent for as long as it takes.
        timeout=None,
    )


class _Output:
    """Follows what an engine says while it builds."""

    def __init__(self, name: str, tell: Callable[[str], None]) -> None:
        self.image_id: str | None = None
        self._name = name
        self._tell = tell
        self._rest = ""
        self._step: int | None = None
        self._command = ""
        self._last: deque[str] = deque(maxlen=_TOLD_LINES)

    def take(self, said: dict[str, Any]) -> None:
        """Takes one message of the engine.

        Raises:
            ImageBuildError: It is about the build's failure.
        """
        if "error" in said:
            raise self._failed(said)
        if "aux" in said:
            self.image_id = said["aux"].get("ID", self.image_id)
        if "stream" in said:
            self._take_text(said["stream"])
        # Of a base image that is fetched: not how far each layer is.
        elif "status" in said and not said.get("progressDetail"):
            self._take_line(" ".join(filter(None, (said.get("id"), said["status"]))))

    def _take_text(self, text: str) -> None:
        *lines, self._rest = (self._rest + _COLOURS.sub("", text)).split("\n")
        for line in lines:
            self._take_line(line.rstrip("\r"))

    def _take_line(self, line: str) -> None:
        if found := _STEP.fullmatch(line):
            self._step, self._command = int(found[1]), found[2].strip()
            self._last.clear()
        elif line.strip() and not _REMARK.match(line):
            self._last.append(line)
        self._tell(line)

    def _failed(self, said: dict[str, Any]) -> ImageBuildError:
        if self._rest:
            self._take_text("\n")
        detail = said.get("errorDetail") or {}
        exit_code: int | None = detail.get("code")
        # Of a command that failed the engine's own reason is that command once more.
        reason = str(detail.get("message") or said["error"]) if exit_code is None else f"exit code {exit_code}"
        logs = "\n".join(self._last)
        where = "before its first step" if self._step is None else f"at step {self._step} ({_shortened(self._command)})"
        message = refused(f"The image {self._name} could not be built {where}", reason).message
        message += "".join(f" {remedy}" for pattern, remedy in _REMEDIES if pattern.search(f"{reason}\n{logs}"))
        if self._command.upper().startswith("FROM "):
            message += f" {_ABOUT_THE_BASE}"
        if logs:
            message += f"\n{logs}"
        return ImageBuildError(message, step=self._step, command=self._command, exit_code=exit_code, logs=logs)


def _shortened(command: str) -> str:
    """A command of any length as one short line."""
    line = " ".join(command.split())
    return line if len(line) <= _TOLD_COMMAND else f"{line[:_TOLD_COMMAND]}..."
