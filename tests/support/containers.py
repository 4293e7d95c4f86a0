"""What the tests of containers share: an image whose server does as it is told, and what is to be seen of it."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker

from openenv_gym.providers.base import ServerHandle, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker import ContainerServer, DockerProvider
from openenv_gym.providers.docker.labels import POOL_LABEL
from openenv_gym.providers.location import pool_location
from tests.support.engine import ENGINE_VARIABLE, Engine

OBEDIENT_IMAGE = "openenv-gym-obedient:test"
"""A server that does as it is told; see ``images/obedient/server.py``."""

_FOLDER = Path(__file__).parent / "images" / "obedient"
_START_SECONDS = 60.0


def build_obedient_image(client: docker.DockerClient) -> str:
    """Builds the image, on an engine that has the base image, and returns its name."""
    client.images.build(path=str(_FOLDER), tag=OBEDIENT_IMAGE, rm=True)
    return OBEDIENT_IMAGE


def obedient(*, options: dict[str, Any] | None = None, **settings: str) -> ServerRequest:
    """A request for a server that does as it is told."""
    return ServerRequest(
        provider="docker",
        image=OBEDIENT_IMAGE,
        options=tuple({"pull": "never", **(options or {})}.items()),
        settings=tuple(settings.items()),
    )


def started(request: ServerRequest) -> ContainerServer:
    """A server that answers; the test's end ends it."""
    return DockerProvider().start(request, Deadline(_START_SECONDS))


def inside(server: ServerHandle, program: str) -> Any:
    """Runs a program in a server's container; what it leaves in ``result`` is returned, or its exception's text."""
    request = urllib.request.Request(f"{server.base_url}/run", data=program.encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def inspected(client: docker.DockerClient, server: ContainerServer) -> dict[str, Any]:
    """What the engine says of a server's container."""
    found: dict[str, Any] = client.containers.get(server.container).attrs
    return found


def of_this_pool(engine: Engine) -> Iterator[str]:
    """Names of the containers and networks that are this process tree's."""
    client = engine.client()
    ours: dict[str, str | list[str] | bool] = {"label": f"{POOL_LABEL}={pool_location().directory.name}"}
    try:
        yield from (str(each.name) for each in client.containers.list(all=True, filters=ours, ignore_removed=True))
        yield from (str(each.name) for each in client.networks.list(filters=ours))
    finally:
        client.close()


def tar_of(program: bytes, *names: str) -> bytes:
    """An archive of a program under several names."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.mode, member.size = 0o755, len(program)
            archive.addfile(member, io.BytesIO(program))
    return made.getvalue()


def runsc_arguments(folder: Path) -> tuple[str, ...]:
    """Arguments for ``dockerd`` by which it knows gVisor; none where there is no gVisor, or no engine to start.

    Args:
        folder: Where a program is put by which gVisor runs without control groups of its own, which it cannot have on
            every machine, and with the container's network, for the same reason.
    """
    runsc = shutil.which("runsc")
    if runsc is None or ENGINE_VARIABLE in os.environ:
        return ()
    program = folder / "runsc"
    program.write_text(f'#!/bin/sh\nexec {runsc} --ignore-cgroups --network=host "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return (f"--add-runtime=runsc={program}",)
