"""A Docker engine of the tests' own, with its data and its socket in a temporary folder, and a base image for it.

``OPENENV_GYM_TEST_ENGINE`` names an engine that runs already, to be used instead; it is neither ended nor restarted.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker

from tests.support.base_archive import EngineUnavailable, base_archive

__all__ = [
    "BASE_IMAGE",
    "ENGINE_VARIABLE",
    "Engine",
    "EngineUnavailable",
    "answers",
    "provide_base_image",
    "running_engine",
]

BASE_IMAGE = "openenv-gym-base:test"
"""Debian with Python 3.11 and the machine's certificates, made without any image registry."""

ENGINE_VARIABLE = "OPENENV_GYM_TEST_ENGINE"

_START_SECONDS = 60.0
_NO_NETWORK = "--bridge=none"


class Engine:
    """A running engine.

    Args:
        folder: Where its data, its socket and its log lie; None for one that somebody else started.
        address: Where it listens, as ``DOCKER_HOST`` has it.
        arguments: More arguments for ``dockerd``.
    """

    def __init__(self, folder: Path | None, address: str, arguments: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.address = address
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_ours(self) -> bool:
        """Whether a test may restart it."""
        return self.folder is not None

    def client(self) -> docker.DockerClient:
        """A client of the engine, to be closed by the caller."""
        return docker.DockerClient(base_url=self.address, timeout=120)

    def start(self) -> None:
        """Starts it and waits until it answers."""
        if self.folder is None:
            return
        with (self.folder / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    # One without a network removes the bridge that another's containers are on.
                    *(("unshare", "--net") if _NO_NETWORK in self._arguments else ()),
                    "dockerd",
                    f"--host={self.address}",
                    f"--data-root={self.folder / 'data'}",
                    f"--exec-root={self.folder / 'exec'}",
                    f"--pidfile={self.folder / 'dockerd.pid'}",
                    *self._arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        give_up = time.monotonic() + _START_SECONDS
        while not answers(self.address):
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise EngineUnavailable(f"dockerd did not start:\n{self.log()}")
            time.sleep(0.1)

    def _network(self) -> tuple[str, ...]:
        # One without a bridge removes that of another engine in the same network.
        return ("unshare", "--net") if "--bridge=none" in self._arguments else ()

    def stop(self) -> None:
        """Ends it, its containers included, as a machine that is shut down would."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        """Stops it and starts it again, with the same data."""
        assert self.is_ours, "an engine of somebody else's is not restarted"
        self.stop()
        self.start()

    def log(self) -> str:
        """What it wrote."""
        if self.folder is None:
            return ""
        return (self.folder / "dockerd.log").read_text(encoding="utf-8", errors="replace")[-4000:]


def answers(address: str) -> bool:
    """Whether an engine answers at a Unix socket."""
    # Not by the SDK, which leaves a socket open when nobody listens.
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(10)
        try:
            probe.connect(address.removeprefix("unix://"))
            probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in probe.recv(100)
        except OSError:
            return False


@contextmanager
def running_engine(*arguments: str, data_size: str | None = None) -> Iterator[Engine]:
    """An engine of one's own until the end of the block; then nothing of it is left.

    Args:
        arguments: For ``dockerd``. With ``--bridge=none`` it disturbs no other engine on this machine.
        data_size: The size of a disk of its own for its data, such as ``"600m"``; None for the machine's disk.

    Raises:
        EngineUnavailable: None can run here.
    """
    given = os.environ.get(ENGINE_VARIABLE)
    if given and not arguments and data_size is None:
        yield Engine(None, given)
        return
    _refuse_where_impossible()
    # Short: a socket's path may have 107 bytes, and containerd makes its own below.
    folder = Path(tempfile.mkdtemp(prefix="oge-", dir="/var/tmp"))
    data = folder / "data"
    data.mkdir()
    try:
        if data_size is not None:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={data_size}", "tmpfs", str(data)], check=True)
        engine = Engine(folder, f"unix://{folder}/s", arguments)
        try:
            engine.start()
            yield engine
        finally:
            engine.stop()
    finally:
        for mounted in _mounts_below(folder):
            subprocess.run(["umount", "--lazy", mounted], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_where_impossible() -> None:
    if os.geteuid() != 0:
        raise EngineUnavailable("dockerd needs root")
    if shutil.which("dockerd") is None:
        raise EngineUnavailable("dockerd is not installed (Debian: docker.io)")


def _mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    points = [line.split()[1] for line in lines]
    # The innermost first.
    return sorted((point for point in points if point.startswith(f"{folder}/")), key=len, reverse=True)


def provide_base_image(engine: Engine) -> str:
    """Puts the base image into an engine that has none, and returns its name.

    Raises:
        EngineUnavailable: There is no archive of it, and none can be made here.
    """
    client = engine.client()
    try:
        if not client.images.list(name=BASE_IMAGE):
            with base_archive().open("rb") as archive:
                client.api.import_image_from_data(archive, repository=BASE_IMAGE.partition(":")[0], tag="test")
        return BASE_IMAGE
    finally:
        client.close()
