"""Where caches lie, and whose folder is trusted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_gym.providers.user_cache import cache_root, is_own_folder

_NOBODY = 65534


def test_the_folder_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENENV_GYM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "openenv-gym"
    monkeypatch.setenv("OPENENV_GYM_CACHE", str(tmp_path / "mine"))
    assert cache_root() == tmp_path / "mine"
    monkeypatch.setenv("OPENENV_GYM_CACHE", "~nobody-of-that-name/cache")
    assert cache_root() == Path("~nobody-of-that-name/cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be a user that is in no list")
def test_a_user_without_a_home_has_one_all_the_same() -> None:
    program = (
        "import os; from openenv_gym.providers.user_cache import cache_root; "
        "[os.environ.pop(name, None) for name in ('HOME', 'XDG_CACHE_HOME', 'OPENENV_GYM_CACHE')]; "
        "os.setuid(54321); print(cache_root())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert run.stdout.endswith("openenv-gym-cache-54321\n"), run.stderr


def test_a_folder_that_everybody_may_write_is_nobodys(tmp_path: Path) -> None:
    assert is_own_folder(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    assert is_own_folder(tmp_path / "link")
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert not is_own_folder(open_to_all)
    assert not is_own_folder(tmp_path / "missing")
    (tmp_path / "file").touch()
    assert not is_own_folder(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make another user's folder")
def test_another_users_folder_is_not_this_users_by_a_link_either(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    os.chown(tmp_path / "others", _NOBODY, _NOBODY)
    (tmp_path / "link").symlink_to(tmp_path / "others")
    assert not is_own_folder(tmp_path / "others")
    assert not is_own_folder(tmp_path / "link")
