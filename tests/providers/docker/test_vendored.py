"""The wheel of ours that an image is given."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.docker.vendored import build_wheel, own_wheel, pack_installed, state_of

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.delenv("OPENENV_GYM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what is built."""
    folder = tmp_path / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("openenv_gym", "protocol", "server", "registry", "cli", "envs"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, folder)
    return folder


def listing(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_a_checkout_is_built_once_for_each_state(cache: Path) -> None:
    first = own_wheel()
    assert first is not None
    assert first.is_relative_to(cache)
    made = first.stat().st_mtime_ns
    again = own_wheel()
    assert again == first
    assert first.stat().st_mtime_ns == made
    names = zipfile.ZipFile(first).namelist()
    assert "openenv_gym_server/__init__.py" in names
    assert "openenv_gym_registry/projects/echo/openenv.yaml" in names


def test_a_change_of_the_sources_is_another_state_and_a_cache_file_is_not(checkout: Path) -> None:
    before = state_of(checkout)
    (checkout / "server" / "__pycache__").mkdir()
    (checkout / "server" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert state_of(checkout) == before
    module = checkout / "openenv_gym" / "__init__.py"
    module.write_text(module.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert state_of(checkout) != before


def test_equal_sources_make_equal_wheels_and_nothing_is_left_in_the_checkout(checkout: Path, tmp_path: Path) -> None:
    before = listing(checkout)
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        build_wheel(checkout, tmp_path / name)
        (wheel,) = (tmp_path / name).iterdir()
        contents.append(wheel.read_bytes())
    assert contents[0] == contents[1]
    assert listing(checkout) == before


def test_a_build_that_fails_says_what_it_said(checkout: Path, tmp_path: Path) -> None:
    (checkout / "pyproject.toml").write_text("[project]\nname = 7\n", encoding="utf-8")
    with pytest.raises(ProviderError, match="hatchling") as caught:
        build_wheel(checkout, tmp_path)
    assert str(checkout) in caught.value.message
    assert "version" in caught.value.message.splitlines()[-1]


def test_only_the_latest_states_are_kept(cache: Path) -> None:
    homes = cache / "openenv-gym" / "wheels"
    for number in range(20):
        old = homes / f"old{number}"
        old.mkdir(parents=True)
        (old / "openenv_gym-0-py3-none-any.whl").touch()
        os.utime(old, (number, number))
    newest = own_wheel()
    assert newest is not None
    left = {path.name for path in homes.iterdir()}
    assert newest.parent.name in left
    assert len(left) == 8
    assert "old19" in left
    assert "old0" not in left


INSTALLED = "from openenv_gym.providers.docker.vendored import own_wheel; print(own_wheel())"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """An interpreter that has our wheel's files, installed from a file, and everything that we need."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True, system_site_packages=False)
    wheel = own_wheel()
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=100)
    (site_packages,) = home.glob("lib/python3*/site-packages")
    # After its own: what the wheel needs is this interpreter's, the wheel itself is not.
    theirs = Path(pytest.__file__).parents[1]
    (site_packages / "zz.pth").write_text(f"{theirs}\n", encoding="utf-8")
    return python


def run(python: Path, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-c", INSTALLED], cwd=cwd, env=clean, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_what_was_installed_from_a_file_is_packed_again(elsewhere: Path, tmp_path: Path) -> None:
    original = own_wheel()
    assert original is not None
    packed = Path(run(elsewhere, tmp_path))
    assert packed.name == original.name
    theirs, ours = zipfile.ZipFile(packed), zipfile.ZipFile(original)
    assert sorted(theirs.namelist()) == sorted(ours.namelist())
    different = [name for name in ours.namelist() if theirs.read(name) != ours.read(name)]
    assert [name for name in different if not name.endswith("/RECORD")] == []
    # A wheel that pip takes: its record fits.
    target = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*target, str(tmp_path / "target"), str(packed)], check=True, capture_output=True, timeout=100)
    assert (tmp_path / "target" / "openenv_gym" / "py.typed").is_file()


def test_what_came_from_an_index_is_left_to_the_index(elsewhere: Path, tmp_path: Path) -> None:
    (direct_url,) = elsewhere.parents[1].glob("lib/python3*/site-packages/openenv_gym-*/direct_url.json")
    # As an installer leaves it who was told a name and no address.
    direct_url.unlink()
    assert run(elsewhere, tmp_path) == "None"


def test_only_files_of_the_distribution_itself_are_packed(tmp_path: Path) -> None:
    # pytest has programs in bin/, and compiled modules beside its own.
    pack_installed(importlib.metadata.distribution("pytest"), tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "pytest/__init__.py" in names
    assert [name for name in names if name.startswith("..") or "__pycache__" in name] == []
    assert wheel.name == f"pytest-{pytest.__version__}-py3-none-any.whl"


def test_no_wheel_is_taken_from_a_folder_in_which_everybody_may_put_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENENV_GYM_CACHE", str(tmp_path / "open"))
    (tmp_path / "open" / "wheels").mkdir(parents=True)
    (tmp_path / "open" / "wheels").chmod(0o777)
    with pytest.raises(ProviderError, match="OPENENV_GYM_CACHE"):
        own_wheel()
