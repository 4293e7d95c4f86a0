"""An engine whose disk is full."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.base import ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker import DockerProvider
from tests.support.containers import of_this_pool, tar_of
from tests.support.engine import Engine, EngineUnavailable, running_engine

pytestmark = pytest.mark.containers

IMAGE = "openenv-gym-small:test"


@pytest.fixture(scope="module")
def small_engine() -> Iterator[Engine]:
    """An engine with a small disk of its own and one small image, and without networks, which are the other's."""
    try:
        with running_engine("--bridge=none", data_size="64m") as running:
            client = running.client()
            client.api.import_image_from_data(
                tar_of(b"#!/bin/sh\n", "server"), repository=IMAGE.split(":")[0], tag="test"
            )
            client.close()
            yield running
    except EngineUnavailable as error:
        pytest.skip(str(error))


def fill(folder: Path) -> Path:
    """Leaves no space on a disk."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as full, contextlib.suppress(OSError):
        while True:
            full.write(bytes(4096))
    assert shutil.disk_usage(folder).free == 0
    return filler


def test_it_is_told_with_what_frees_space_and_no_container_is_left(small_engine: Engine) -> None:
    assert small_engine.folder is not None
    filler = fill(small_engine.folder / "data")
    options = {"engine": small_engine.address, "pull": "never", "command": ["/server"]}
    try:
        with pytest.raises(ProviderError, match=r"The engine's disk is full.*docker system df"):
            DockerProvider().start(
                ServerRequest(provider="docker", image=IMAGE, options=tuple(options.items())), Deadline(30)
            )
    finally:
        filler.unlink()
    assert list(of_this_pool(small_engine)) == []
