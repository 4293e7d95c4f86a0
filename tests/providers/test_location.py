from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from openenv_gym.providers.identity import start_time
from openenv_gym.providers.location import POOL_VARIABLE, PoolLocation, pool_location


@pytest.fixture
def own() -> PoolLocation:
    started = start_time(os.getpid())
    assert started is not None
    return PoolLocation.of_root(os.getpid(), started)


@pytest.fixture(autouse=True)
def _no_pool_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that what a test exports is taken back.
    monkeypatch.setenv(POOL_VARIABLE, "")


def test_a_location_is_read_back_from_its_directory(own: PoolLocation) -> None:
    assert PoolLocation.parse(own.directory) == own
    assert own.is_here
    assert own.root_is_running()


@pytest.mark.parametrize("path", ["", "/tmp", "/tmp/openenv-gym-0-1-2", "openenv-gym-0-1-2-00000000"])
def test_another_path_is_no_location(path: str) -> None:
    assert PoolLocation.parse(path) is None


def test_the_first_process_is_the_root_and_tells_its_children(own: PoolLocation) -> None:
    assert pool_location() == own
    assert os.environ[POOL_VARIABLE] == str(own.directory)
    assert not own.directory.exists()


def test_a_child_process_finds_its_roots_pool(own: PoolLocation) -> None:
    pool_location()
    program = "from openenv_gym.providers.location import pool_location; print(pool_location().directory)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == str(own.directory)


@pytest.mark.parametrize("change", [{"root_started": 1}, {"place": "00000000"}, {"uid": os.getuid() + 1}])
def test_a_pool_whose_root_is_not_here_any_more_is_left_behind(
    own: PoolLocation, change: dict[str, int | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = dataclasses.replace(own, **change)  # type: ignore[arg-type]  # the fields' types are the parameters'
    monkeypatch.setenv(POOL_VARIABLE, str(stale.directory))
    assert pool_location() == own
    assert os.environ[POOL_VARIABLE] == str(own.directory)


def test_the_directory_is_made_for_its_owner_alone(own: PoolLocation, tmp_path: Path) -> None:
    location = dataclasses.replace(own, parent=tmp_path)
    location.make_directory()
    location.make_directory()
    assert location.directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["file", "link", "open"])
def test_what_stands_in_the_directorys_place_is_not_trusted(own: PoolLocation, tmp_path: Path, kind: str) -> None:
    location = dataclasses.replace(own, parent=tmp_path)
    if kind == "file":
        location.directory.touch()
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        location.directory.symlink_to(tmp_path / "elsewhere")
    else:
        location.directory.mkdir()
        location.directory.chmod(0o777)
    with pytest.raises(PermissionError, match="TMPDIR"):
        location.make_directory()


def test_a_long_folder_for_temporary_files_does_not_make_the_socket_unusable(
    own: PoolLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
    location = PoolLocation.of_root(own.root_pid, own.root_started)
    assert len(str(location.socket)) <= 100
