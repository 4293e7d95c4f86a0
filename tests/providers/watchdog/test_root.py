from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

from openenv_gym.providers.identity import start_time
from openenv_gym.providers.location import PoolLocation
from openenv_gym.providers.watchdog.root import Root
from tests.support.pools import eventually


@pytest.fixture
def trainer() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def location_of(process: subprocess.Popen[bytes]) -> PoolLocation:
    started = start_time(process.pid)
    assert started is not None
    return PoolLocation.of_root(process.pid, started)


def close(root: Root) -> None:
    if root.fd is not None:
        os.close(root.fd)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no process descriptors")
def test_the_end_of_the_root_makes_its_descriptor_readable(trainer: subprocess.Popen[bytes]) -> None:
    root = Root(location_of(trainer))
    assert not root.has_ended()
    assert root.fd is not None
    trainer.kill()
    assert select.select([root.fd], [], [], 30.0)[0] == [root.fd]
    assert root.has_ended()
    close(root)


def test_without_a_descriptor_the_root_is_looked_for(
    trainer: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    root = Root(location_of(trainer))
    assert root.fd is None
    assert not root.has_ended()
    trainer.kill()
    assert eventually(root.has_ended)


def test_a_root_that_had_ended_is_not_mistaken_for_one_of_the_same_id(trainer: subprocess.Popen[bytes]) -> None:
    root = Root(PoolLocation.of_root(trainer.pid, 1))
    assert root.has_ended()
    close(root)
