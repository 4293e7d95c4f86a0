"""Real images for the tests, built once a session from wheels that were fetched on this machine.

A build's commands reach no package index where the tests run, so pip installs from ``vendor/`` alone. The wheels are
kept in the user's cache, outside of the checkout.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from openenv_gym.providers.docker.build import BuiltImage, build_image
from openenv_gym.providers.docker.context import dockerfile_of
from openenv_gym.providers.docker.vendored import own_wheel
from tests.support.engine import BASE_IMAGE, Engine
from tests.support.pools import PROJECTS
from tests.support.stock import PROGRAMS
from tests.support.venvs import REPOSITORY, own_requirements

BUNDLED = REPOSITORY / "envs"

STOCK_TAG = "openenv-stock_counter:0.1.0"

FROM_VENDOR = {"PIP_NO_INDEX": "1"}
"""The build arguments that let pip install from ``vendor/`` alone."""

_IMAGE_PYTHON = "3.11"
_DOWNLOAD_SECONDS = 900


class Images:
    """The tests' images in one engine, each built when it is first asked for.

    Args:
        engine: The engine, with the base image.
        folder: An empty folder.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        own = own_wheel()
        assert own is not None, "the tests run in a checkout"
        # One state of the sources for all images, whatever is edited meanwhile.
        self.own_wheel = Path(shutil.copy(own, folder))
        self._built: dict[str, BuiltImage] = {}

    def bundled(self, name: str) -> BuiltImage:
        """The image of a project of ``envs/``."""
        if name not in self._built:
            self._built[name] = self.build(BUNDLED / name)
        return self._built[name]

    def stock(self) -> BuiltImage:
        """The image in which the real openenv serves a counter, as root."""
        if STOCK_TAG not in self._built:
            folder = self._folder / "stock_counter"
            shutil.copytree(PROJECTS / "stock_counter", folder)
            shutil.copy(PROGRAMS / "counter.py", folder)
            self._built[STOCK_TAG] = self.build(folder)
        return self._built[STOCK_TAG]

    def build(
        self,
        folder: Path,
        *,
        tag: str | None = None,
        wheels: Sequence[Path] | None = None,
        on_output: Callable[[str], None] | None = None,
    ) -> BuiltImage:
        """Builds a project's image on the tests' base image, from the wheels that it requires or from given ones.

        What its Dockerfile takes of Debian's packages comes from where this machine has them.
        """
        installs_packages = "apt-get" in (folder / dockerfile_of(folder)).read_text(encoding="utf-8")
        return build_image(
            folder,
            tag=tag,
            base_image=BASE_IMAGE,
            build_args=FROM_VENDOR,
            engine=self._engine.address,
            wheels=[self.own_wheel, *(wheels_of(folder) if wheels is None else wheels)],
            on_output=on_output,
            network="host" if installs_packages else None,
        )


def wheels_of(folder: Path) -> list[Path]:
    """The wheels of all that a project requires; openenv-gym's own is the build's to bring."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"], *project.get("optional-dependencies", {}).get("server", [])]
    own = [each for each in listed if each.startswith("openenv-gym")]
    extras = sorted({name for each in own for found in re.findall(r"\[(.*?)\]", each) for name in found.split(",")})
    return wheelhouse([each for each in listed if each not in own] + (own_requirements(*extras) if own else []))


def wheelhouse(requirements: Sequence[str]) -> list[Path]:
    """The wheels of requirements and of all that these require, for the base image's Python.

    Skips the test where they cannot be fetched.
    """
    wanted = sorted(set(requirements))
    key = hashlib.sha256("\n".join([_IMAGE_PYTHON, platform.machine(), *wanted]).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openenv-gym" / "wheelhouses"
    home = cache / key
    if not home.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            made = Path(folder) / "made"
            _download(wanted, made)
            # Whole or not at all, also beside another run.
            if not home.is_dir():
                made.rename(home)
    return sorted(home.glob("*.whl"))


def _download(requirements: Sequence[str], folder: Path) -> None:
    done = _pip(
        *("download", "--only-binary=:all:", "--python-version", _IMAGE_PYTHON, "--dest", str(folder)), *requirements
    )
    if done.returncode != 0 and platform.python_version().startswith(f"{_IMAGE_PYTHON}."):
        # What there is no wheel of is built into one, by the same Python as the image's.
        done = _pip("wheel", "--wheel-dir", str(folder), *requirements)
    if done.returncode != 0:
        pytest.skip(f"the images' wheels could not be fetched: {done.stderr[-2000:]}")


def _pip(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=_DOWNLOAD_SECONDS,
    )
