"""The border to the Docker SDK: finds and opens an engine, and says in our words what it refuses."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, ProviderError

if TYPE_CHECKING:
    from docker import DockerClient

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"

ENGINE_SECONDS = 120.0
"""How long one call to an engine may be silent."""

_LISTENERS = ("dockerd", "systemd")
"""Who listens at an engine's own socket: not the one at the near end of a tunnel."""

_LISTENER_SECONDS = 5.0
_PEER_CREDENTIALS = getattr(socket, "SO_PEERCRED", 0)
_CREDENTIALS = struct.Struct("3i")

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
_WITH_A_HOST = ("tcp", "http", "https", "ssh")
_PASSWORD = re.compile(r"//([^/@:]*):[^/]*@")


class _Refusal(NamedTuple):
    said: re.Pattern[str]
    kind: type[OpenEnvGymError]
    remedy: str


def _refusal(said: str, kind: type[OpenEnvGymError], remedy: str) -> _Refusal:
    return _Refusal(re.compile(said, re.IGNORECASE | re.DOTALL), kind, remedy)


_IMAGE_NAMES = (
    "image= must be a name such as 'openenv-echo:0.1.0' or 'registry.example/team/name@sha256:...', in lower case."
)

_REFUSALS = (
    _refusal(
        "no space left on device|disk quota exceeded",
        ProviderError,
        "The engine's disk is full. `docker system df` shows what is on it; `docker image prune`, "
        "`docker builder prune` and `docker volume prune` free what nothing uses.",
    ),
    _refusal(
        "port is already allocated|address already in use",
        ProviderError,
        "The port is taken. Leave host_port= out, and the engine chooses a free one; or end what holds it.",
    ),
    _refusal(
        "container name .* is already in use",
        ProviderError,
        "That other container was left alone. Leave container_name= out, give another name, or remove it by "
        "`docker rm -f <name>`.",
    ),
    _refusal(
        "unknown (or invalid )?runtime",
        ConfigurationError,
        "runtime= must be one of the runtimes that `docker info` lists; gVisor's has to be installed and registered "
        "with the engine first (`runsc install`).",
    ),
    _refusal(
        "could not select device driver|nvidia-container-cli",
        ProviderError,
        "gpus= needs an NVIDIA driver and the NVIDIA Container Toolkit on the engine's machine.",
    ),
    _refusal(
        "bind source path does not exist|invalid mount config",
        ConfigurationError,
        "volumes= must name folders that are on the engine's machine.",
    ),
    _refusal(
        "unable to find (user|group)",
        ConfigurationError,
        "The image has no user of that name; user= may be a number too, such as '1000:1000'.",
    ),
    _refusal(
        "invalid reference format",
        ConfigurationError,
        _IMAGE_NAMES,
    ),
    _refusal(
        "non-overlapping ipv4 address pool",
        ProviderError,
        "The engine has no addresses left for another network; `docker network prune` removes those that nothing uses.",
    ),
    _refusal(
        "network .* not found",
        ConfigurationError,
        "network= must be one that `docker network ls` lists.",
    ),
    _refusal(
        "exec format error|does not match the specified platform|no matching manifest",
        ProviderError,
        "The image is for another platform than was asked for or than the engine runs on. Build or pull it for this "
        "one, or give platform= (the engine needs an emulator for a foreign one).",
    ),
)
"""What an engine says, and what can be done about it. The first that fits counts."""


def engine_address(wanted: str | None) -> str:
    """The address of the engine that is meant: an option's, else ``DOCKER_HOST``, else the docker command's context.

    Raises:
        ProviderError: The SDK is not installed.
        ConfigurationError: It is no address.
    """
    if wanted is not None:
        return _normalised("engine", wanted)
    named = os.environ.get("DOCKER_HOST")
    if named:
        return _normalised("DOCKER_HOST", named)
    return _normalised("The context's host", _address_by_context() or DEFAULT_ADDRESS)


def shown_address(address: str) -> str:
    """An engine's address as it may be shown: without a password."""
    return _PASSWORD.sub(r"//\1:***@", address)


def is_remote(address: str) -> bool:
    """Whether an engine is on another machine, as far as its address tells."""
    parts = urlsplit(address)
    return parts.scheme not in ("unix", "npipe") and (parts.hostname or "") not in _LOOPBACK_HOSTS


def is_on_this_machine(address: str, info: Mapping[str, Any]) -> bool:
    """Whether an engine certainly runs on this very machine, and so ends with it.

    A socket may be forwarded from another machine, even one of the same name, or lead into a virtual one.

    Args:
        address: The engine's.
        info: What the engine says of itself.
    """
    if not address.startswith("unix://") or info.get("Name") != socket.gethostname():
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(_LISTENER_SECONDS)
        knocking.connect(address.removeprefix("unix://"))
        peer = knocking.getsockopt(socket.SOL_SOCKET, _PEER_CREDENTIALS, _CREDENTIALS.size)
        listener = Path(f"/proc/{_CREDENTIALS.unpack(peer)[0]}/comm").read_text(encoding="utf-8")
        return listener.strip() in _LISTENERS
    return False


@contextmanager
def open_engine(address: str, seconds: float = ENGINE_SECONDS) -> Iterator[DockerClient]:
    """Opens a client of an engine, and closes it. ``DOCKER_TLS_VERIFY`` and ``DOCKER_CERT_PATH`` count.

    Args:
        address: Where it listens, as ``DOCKER_HOST`` has it.
        seconds: How long one call may be silent.

    Raises:
        ProviderError: No engine answers, or this user may not ask it, or the SDK is not installed; each with its
            remedy.
    """
    sdk = _sdk()
    with engine_errors(address, "The engine could not be asked"):
        _knock(address, seconds)
        known = sdk.utils.kwargs_from_env({**os.environ, "DOCKER_HOST": address})
        client: DockerClient = sdk.DockerClient(
            **known, timeout=max(seconds, 1.0), use_ssh_client=address.startswith("ssh:")
        )
    try:
        yield client
    finally:
        client.close()


@contextmanager
def engine_errors(address: str, failing: str) -> Iterator[None]:
    """Raises in our words what the SDK raises inside the block.

    Args:
        address: The engine's, for messages.
        failing: What did not work then, such as ``"The container could not be created"``.

    Raises:
        ProviderError: The engine cannot be reached, or refused; the message has the remedy.
        ConfigurationError: It refused a value of the request.
    """
    try:
        yield
    except _foreign_errors() as error:
        raise _in_our_words(address, failing, error) from error


def refused(failing: str, said: str) -> OpenEnvGymError:
    """The error for what an engine said, with the remedy where one is known."""
    text = f"{failing}: {said.strip().rstrip('.')}."
    refusal = _foreseen(said)
    return refusal.kind(f"{text} {refusal.remedy}") if refusal is not None else ProviderError(text)


def bad_image_name(name: str) -> ConfigurationError:
    """The error for what is no image's name."""
    return ConfigurationError(f"image={name!r:.200} is no image's name. {_IMAGE_NAMES}")


def has_remedy(said: str) -> bool:
    """Whether ``refused`` knows what can be done about what an engine said."""
    return _foreseen(said) is not None


def _foreseen(said: str) -> _Refusal | None:
    return next((refusal for refusal in _REFUSALS if refusal.said.search(said)), None)


def _in_our_words(address: str, failing: str, error: Exception) -> OpenEnvGymError:
    explanation = getattr(error, "explanation", None)
    if explanation is not None or getattr(error, "response", None) is not None:
        return refused(failing, str(explanation or error))
    causes, address = list(_causes(error)), shown_address(address)
    if any(isinstance(cause, PermissionError) for cause in causes):
        return ProviderError(
            f"This user may not use the Docker engine at {address}. Let an administrator add them to the group of its "
            "socket (`sudo usermod -aG docker $USER`, then log in again), or use a rootless engine by DOCKER_HOST."
        )
    if any(isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__ for cause in causes):
        return ProviderError(f"{failing}: the Docker engine at {address} did not answer in time. Does `docker info`?")
    if not any(isinstance(cause, OSError) for cause in causes):
        return refused(failing, str(error))
    return ProviderError(
        f"{failing}: no Docker engine answers at {address} ({_innermost(causes)}). Start it (`sudo systemctl start "
        "docker`, or Docker Desktop), or name another by engine= or DOCKER_HOST."
    )


def _normalised(name: str, address: str) -> str:
    """An address in the one form in which it can be compared."""
    scheme, _, rest = address.strip().partition(":")
    scheme = scheme.lower()
    if scheme == "unix" and rest.startswith("/"):
        return f"unix:///{rest.lstrip('/')}"
    if scheme == "npipe" and rest.startswith("//"):
        return f"npipe:{rest}"
    if scheme in _WITH_A_HOST and _has_a_host(f"{scheme}:{rest}"):
        return f"{scheme}:{rest}"
    raise ConfigurationError(
        f"{name}={shown_address(address)!r} is no engine's address, which is like unix:///var/run/docker.sock, "
        "tcp://host:2376 or ssh://user@host."
    )


def _has_a_host(address: str) -> bool:
    try:
        parts = urlsplit(address)
        # The SDK takes no password, and tells it in its error.
        return bool(parts.hostname) and parts.password is None and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _knock(address: str, seconds: float) -> None:
    # The SDK leaves a socket open that it could not connect.
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(seconds)
            knocking.connect(address.removeprefix("unix://"))


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    # urllib3 and requests carry the cause as an argument, the SDK by chaining.
    inner = [each for each in (*error.args, error.__cause__) if isinstance(each, BaseException)]
    for each in inner:
        yield from _causes(each)


def _innermost(causes: list[BaseException]) -> str:
    systems = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(systems[-1].strerror if systems else causes[-1])


def _address_by_context() -> str | None:
    _sdk()
    contexts = import_module("docker.context").ContextAPI
    try:
        context = contexts.get_context(os.environ.get("DOCKER_CONTEXT"))
    except Exception as error:  # The SDK raises no other kind for a file that it cannot read.
        raise ProviderError(f"{error}. engine= or DOCKER_HOST names an engine without contexts.") from error
    return context.Host if context is not None else None


def _sdk() -> Any:
    try:
        return import_module("docker")
    except ModuleNotFoundError as error:
        raise ProviderError('The docker provider needs the Docker SDK: pip install "openenv-gym[docker]"') from error


def _foreign_errors() -> tuple[type[Exception], ...]:
    errors = import_module("docker.errors").DockerException
    requests = import_module("requests.exceptions").RequestException
    urllib3 = import_module("urllib3.exceptions").HTTPError
    return (errors, requests, urllib3, OSError)
