"""Code from the Hub is installed when one commit of it is trusted by name, and never otherwise."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, ProviderError
from openenv_gym_registry.remote_code import InstalledSpace

import openenv_gym
from tests.support.hub.spaces import hub_for
from tests.support.hub.state import HubState

PACKAGE = {
    "openenv.yaml": "name: tiny\n",
    "pyproject.toml": (
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "openenv-tiny"\nversion = "1"\n[tool.hatch.build.targets.wheel]\npackages = ["tiny_env"]\n'
    ),
    "tiny_env/__init__.py": "COMMIT = 'first'\n",
}
OFFLINE = ("--no-build-isolation", "--no-deps", "--no-index")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubState]:
    with hub_for(monkeypatch, tmp_path) as running:
        running.add("someone/tiny", PACKAGE)
        yield running


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """The folder of a virtual environment that can build, with what this one has."""
    folder = tmp_path / "venv"
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "ours.pth").write_text(sysconfig.get_paths()["purelib"])
    return folder


def installed(folder: Path) -> str:
    code = "import tiny_env; print(tiny_env.COMMIT)"
    run = subprocess.run([folder / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
    return run.stdout.strip()


def test_the_commit_that_was_trusted_is_installed(hub: HubState, interpreter: Path) -> None:
    repo = hub.repos["someone/tiny"]
    trusted = repo.head.sha
    repo.commit({**PACKAGE, "tiny_env/__init__.py": "COMMIT = 'second'\n"})
    done = openenv_gym.install_space(
        "someone/tiny", revision=trusted, trust_remote_code=True, venv=interpreter, pip_options=OFFLINE
    )
    assert done == InstalledSpace("someone/tiny", trusted, str(interpreter / "bin" / "python"))
    assert installed(interpreter) == "first"


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({}, "trust_remote_code=True"),
        ({"revision": "a" * 40}, "trust_remote_code=True"),
        ({"revision": "a" * 40, "trust_remote_code": "yes"}, "trust_remote_code=True"),
        ({"trust_remote_code": True}, "full id"),
        ({"trust_remote_code": True, "revision": "main"}, "another commit tomorrow"),
        ({"trust_remote_code": True, "revision": "abcdef0"}, "another commit tomorrow"),
        ({"trust_remote_code": True, "space": "https://someone-tiny.hf.space", "revision": "a" * 40}, "owner/name"),
        ({"trust_remote_code": True, "space": f"someone/tiny@{'b' * 40}", "revision": "a" * 40}, "two revisions"),
        ({"trust_remote_code": True, "revision": "a" * 40}, "python -m venv"),
    ],
)
def test_it_is_refused_with_the_reason_and_nothing_is_loaded(
    hub: HubState, keywords: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        # Nor would anything be installed here, were it not refused.
        openenv_gym.install_space(**{"space": "someone/tiny", "venv": "/no/such/venv", **keywords})
    assert hub.asked == []


def test_a_commit_that_there_is_not_is_told(hub: HubState, interpreter: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such revision"):
        openenv_gym.install_space("someone/tiny", revision="a" * 40, trust_remote_code=True, venv=interpreter)


def test_a_space_without_a_package_is_told(hub: HubState, interpreter: Path) -> None:
    sha = hub.add("someone/bare", {"openenv.yaml": "name: bare\n"}).head.sha
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml"):
        openenv_gym.install_space("someone/bare", revision=sha, trust_remote_code=True, venv=interpreter)


def test_what_pip_says_is_in_the_error(hub: HubState, interpreter: Path) -> None:
    sha = hub.add("someone/broken", {"pyproject.toml": "[project]\nname = 'x y'\nversion = '1'\n"}).head.sha
    with pytest.raises(ProviderError, match="pip could not install someone/broken"):
        openenv_gym.install_space(
            "someone/broken", revision=sha, trust_remote_code=True, venv=interpreter, pip_options=OFFLINE
        )
    assert installed(interpreter) == ""
