"""What a request to the docker provider may say."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from openenv_gym_protocol.errors import ConfigurationError

OWN_LABELS = "openenv-gym."
"""What the names of our own labels begin with."""

MAX_PORT = 65535

_SIZE = re.compile(r"([0-9]{1,19})([bkmg]?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LEAST_MEMORY = 6 << 20
_MOST_BYTES = (1 << 63) - 1
_RANGES: dict[str, tuple[float, float]] = {
    # Less would be none at all to the engine, which takes that for no limit.
    "cpus": (0.01, 1e5),
    # The kernel has no more.
    "pids": (1, 1 << 22),
    "ttl": (0.001, 1e10),
    "start_timeout": (0.001, 1e9),
    "port": (1, MAX_PORT),
    "host_port": (1, MAX_PORT),
}
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_PLATFORM = re.compile(r"[a-z0-9]+(/[a-z0-9_]+){1,2}")
_GPUS = re.compile(r"all|[1-9][0-9]{0,3}|device=[\w-]+(,[\w-]+)*")
_SHARED_NETWORKS = ("host", "none")
_KERNELS_FOLDERS = ("/proc", "/sys", "/dev")
_LOOSE_MOUNTS = ("suid", "dev", "exec")


@dataclass(frozen=True, kw_only=True)
class DockerOptions:
    """What a request to the docker provider may say; what it does not say is hardened.

    Attributes:
        memory: What the container may use, such as ``"512m"``; there is no swap beyond it.
        cpus: How many processors it may use, such as 0.5. None: all.
        pids: How many processes and threads it may have.
        gpus: ``"all"``, a number of them, or ``"device=0,1"``. None: none.
        volumes: Folders of the engine's machine, each with its place in the container and ``:ro`` (the default) or
            ``:rw``: ``{"/data/levels": "/levels"}``.
        network: The name of an existing network to be in. None: the engine's default.
        runtime: What runs the container, such as ``"runsc"`` (gVisor). None: the engine's default.
        platform: The image's, such as ``"linux/arm64"``. None: the engine's.
        pull: When the image is fetched from its registry.
        labels: More labels for the container.
        command: What it runs instead of the image's command.
        user: ``"name"``, ``"uid"`` or ``"uid:gid"``. None: the image's; when hardened, nobody's instead of root's and
            instead of a name, which the image may have given to root.
        port: Where the server listens in the container. None: as the project or the image says, else 8000.
        host_port: The port at which it is published. None: one that the engine chooses.
        tmpfs: More folders in memory, each with mount options: ``{"/cache": "size=256m"}``. An empty text stands
            for the options of ``/tmp``.
        shm_size: The size of ``/dev/shm``, such as ``"256m"``. None: the engine's default.
        hardening: ``"compat"`` lets an image be root, write everywhere and have the engine's default capabilities.
        egress: Whether the container may reach anything outside of itself. False leaves it the engine's own machine,
            at the gateway of a network of its own; needs a root engine on this machine, which runs Linux.
        bind_address: The engine's address at which the server is published. None: 127.0.0.1, or, for an engine
            elsewhere, an error.
        engine: The engine's address. None: as ``DOCKER_HOST`` or the docker command's context says.
        container_name: The container's name. None: one that nobody else has.
        ttl: Seconds after which any pool's clean-up on the engine may remove it when its owner cannot be found out.
        start_timeout: Seconds until the server must answer. None: as the caller of the pool says.

    Raises:
        ConfigurationError: A value that cannot be, or two that contradict each other.
    """

    memory: str = "1g"
    cpus: float | None = None
    pids: int = 256
    gpus: str | int | None = None
    volumes: dict[str, str] = field(default_factory=dict)
    network: str | None = None
    runtime: str | None = None
    platform: str | None = None
    pull: Literal["missing", "always", "never"] = "missing"
    labels: dict[str, str] = field(default_factory=dict)
    command: list[str] | None = None
    user: str | None = None
    port: int | None = None
    host_port: int | None = None
    tmpfs: dict[str, str] = field(default_factory=dict)
    shm_size: str | None = None
    hardening: Literal["strict", "compat"] = "strict"
    egress: bool = True
    bind_address: str | None = None
    engine: str | None = None
    container_name: str | None = None
    ttl: float = 7 * 24 * 3600.0
    start_timeout: float | None = None

    def __post_init__(self) -> None:
        if size_in_bytes("memory", self.memory) < _LEAST_MEMORY:
            raise ConfigurationError(f"memory must be at least 6m, not {self.memory!r}.")
        if self.shm_size is not None:
            size_in_bytes("shm_size", self.shm_size)
        self._check_numbers()
        self._check_forms()
        self._check_folders()
        self._check_network()

    @property
    def is_strict(self) -> bool:
        """Whether the container runs hardened."""
        return self.hardening == "strict"

    def _check_numbers(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            # Also false of what is no number.
            if value is not None and not least <= value <= most:
                raise ConfigurationError(f"{name} must be from {least:.15g} to {most:.15g}, not {value}.")

    def _check_forms(self) -> None:
        if self.container_name is not None and _NAME.fullmatch(self.container_name) is None:
            raise ConfigurationError(
                "container_name must be of 2 or more letters, digits and . _ -, the first a letter or a digit, not "
                f"{self.container_name!r}."
            )
        if self.platform is not None and _PLATFORM.fullmatch(self.platform) is None:
            raise ConfigurationError(f"platform must be like 'linux/amd64', not {self.platform!r}.")
        if self.gpus is not None and _GPUS.fullmatch(str(self.gpus)) is None:
            raise ConfigurationError(f"gpus must be 'all', a number or like 'device=0,1', not {self.gpus!r}.")
        if self.command is not None and not self.command:
            raise ConfigurationError("command must not be empty; leave it out for the image's own.")
        if self.user is not None and self.is_strict and is_root(self.user):
            raise ConfigurationError(f"user={self.user!r} is root, which needs hardening='compat'.")
        for label in self.labels:
            if not label or label.startswith(OWN_LABELS):
                raise ConfigurationError(f"labels: {label!r} is not yours to set; {OWN_LABELS}* are the provider's.")

    def _check_folders(self) -> None:
        for source, place in self.volumes.items():
            if not source.startswith("/"):
                raise ConfigurationError(f"volumes: {source!r} must be an absolute path on the engine's machine.")
            volume_place(place)
        taken = [volume_place(place)[0] for place in self.volumes.values()]
        for folder in (*taken, *self.tmpfs):
            _check_inner_folder(folder)
            if [*taken, *self.tmpfs].count(folder) > 1:
                raise ConfigurationError(f"Two of volumes and tmpfs want the same folder of the container, {folder!r}.")
        for folder, text in self.tmpfs.items():
            loose = [each for each in text.split(",") if each.strip().lower() in _LOOSE_MOUNTS]
            if loose and self.is_strict:
                raise ConfigurationError(f"tmpfs: {folder!r}: {loose[0]!r} needs hardening='compat'.")

    def _check_network(self) -> None:
        if self.bind_address is not None and not _is_address(self.bind_address):
            # An engine takes what it does not understand for all of its addresses.
            raise ConfigurationError(
                f"bind_address must be an IP address, such as 10.0.0.2, not {self.bind_address!r}."
            )
        if not self.egress:
            self._check_cut_off()
        if self.network is None:
            return
        if not self.network.strip():
            raise ConfigurationError("network must not be empty; leave it out for the engine's default.")
        if self.network in _SHARED_NETWORKS or self.network.startswith("container:"):
            raise shared_network(self.network)

    def _check_cut_off(self) -> None:
        if self.network is not None:
            raise ConfigurationError("egress=False has a network of its own; leave network= out.")
        for name in ("host_port", "bind_address"):
            if getattr(self, name) is not None:
                raise ConfigurationError(f"With egress=False nothing is published; leave {name}= out.")


def size_in_bytes(name: str, text: str) -> int:
    """Reads a size such as ``"512m"``.

    Raises:
        ConfigurationError: It is none; the option is named.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{name} must be a size such as '512m' or '2g', not {text!r}.")
    size = int(match[1]) * _UNITS[match[2].lower()]
    if size > _MOST_BYTES:
        raise ConfigurationError(f"{name}={text!r} is more than any machine has.")
    return size


def volume_place(text: str) -> tuple[str, bool]:
    """Reads where a volume lies in the container, and whether it is read-only there.

    Raises:
        ConfigurationError: What follows the colon is neither ``ro`` nor ``rw``.
    """
    folder, colon, mode = text.partition(":")
    if colon and mode not in ("ro", "rw"):
        raise ConfigurationError(f"volumes: {text!r} must end in :ro or :rw, or in neither.")
    return folder, mode != "rw"


def is_root(user: str) -> bool:
    """Whether a container's user, ``user`` or ``user:group``, is root to the engine; the group alone is root's too."""
    name = user.partition(":")[0]
    return name in ("", "root") or _number(name) == 0


def is_known_not_to_be_root(user: str) -> bool:
    """Whether a container's user is a number that is not root's: what a name stands for is up to the image."""
    number = _number(user.partition(":")[0])
    return number is not None and number > 0


def shared_network(name: str) -> ConfigurationError:
    """The error for a network in which a container has no address of its own."""
    return ConfigurationError(
        f"network={name!r} has no address of the container's own to reach it at. Name another network; egress=False is "
        "the way to cut a container off."
    )


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_inner_folder(path: str) -> None:
    pure = PurePosixPath(path)
    # What is written otherwise than it is named would not be found to be the same folder.
    is_plain = str(pure) == path and not path.startswith("//") and ".." not in pure.parts and ":" not in path
    if not path.startswith("/") or path == "/" or not is_plain:
        raise ConfigurationError(
            f"{path!r} must be an absolute path in the container, below its root, without '..' and a slash at its end."
        )
    if any(pure.is_relative_to(folder) for folder in _KERNELS_FOLDERS):
        raise ConfigurationError(f"{path!r} is the kernel's own; the container needs it as it is. shm_size= is there.")
