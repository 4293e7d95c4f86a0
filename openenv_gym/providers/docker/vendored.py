"""A wheel of the very openenv-gym that runs here, for images that no package index could give it to.

A release that came from an index is installed from there in an image too. A checkout is built, and whatever else was
installed from somewhere (a wheel's file, a folder, a repository) is packed again as it is installed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from openenv_gym_protocol.errors import ProviderError

from openenv_gym.providers.user_cache import CACHE_VARIABLE, cache_root, is_own_folder

_DISTRIBUTION = "openenv-gym"

_WHEEL_PATTERN = "openenv_gym-*.whl"
"""What our own wheel's file is called, in ``vendor/`` too."""

_CHECKOUT = Path(__file__).resolve().parents[3]
_SOURCES = ("openenv_gym", "protocol", "server", "registry", "cli", "envs")
_SOURCE_FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
_KEPT = 8
_BUILD_SECONDS = 300
_LAST_LINES = 15
# What says how this installation came about; in a wheel it would be another's.
_OF_THE_INSTALLATION = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}


def own_wheel() -> Path | None:
    """The wheel that an image needs of us, made when first asked for and kept in the user's cache.

    Returns:
        Its path, or None when the package index has it.

    Raises:
        ProviderError: It cannot be made here; the message says why.
    """
    if (_CHECKOUT / "hatch_build.py").is_file():
        return _kept(state_of(_CHECKOUT), lambda folder: build_wheel(_CHECKOUT, folder))
    installed = importlib.metadata.distribution(_DISTRIBUTION)
    if installed.read_text("direct_url.json") is None:
        return None
    record = installed.read_text("RECORD") or ""
    return _kept(_digest(record.encode()), lambda folder: pack_installed(installed, folder))


def state_of(checkout: Path) -> str:
    """A name for the sources as they are now: other contents, another name."""
    digest = hashlib.sha256()
    for path in _source_files(checkout):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(checkout)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def build_wheel(checkout: Path, folder: Path) -> None:
    """Builds the wheel of a checkout into a folder; nothing is written anywhere else.

    Raises:
        ProviderError: The build failed.
    """
    if importlib.util.find_spec("hatchling") is not None:
        command = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    else:
        command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(checkout)]
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=checkout,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # the build imports the checkout's hatch_build.py
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_BUILD_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _not_built(checkout, str(error)) from error
    if done.returncode != 0:
        raise _not_built(checkout, "\n".join(f"{done.stdout}{done.stderr}".splitlines()[-_LAST_LINES:]))


def _not_built(checkout: Path, reason: str) -> ProviderError:
    return ProviderError(
        f"An image gets the openenv-gym of {checkout} as a wheel, and that could not be built (pip install hatchling "
        f"lets it be built without the package index):\n{reason}"
    )


def pack_installed(installed: importlib.metadata.Distribution, folder: Path) -> None:
    """Packs an installed distribution as the wheel that it was installed from.

    Args:
        installed: A distribution without compiled modules, by its ``RECORD``.
        folder: Where the wheel is written.
    """
    name = f"{installed.metadata['Name'].replace('-', '_')}-{installed.version}-py3-none-any.whl"
    files = [path for path in installed.files or () if _belongs_into_a_wheel(path)]
    (metadata,) = {path.parts[0] for path in files if path.parts[0].endswith(".dist-info")}
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in sorted(files):
            content = Path(str(path.locate())).read_bytes()
            # Without a time, so that equal installations make equal wheels.
            wheel.writestr(zipfile.ZipInfo(path.as_posix()), content, zipfile.ZIP_DEFLATED)
            rows.writerow([path.as_posix(), f"sha256={_record_hash(content)}", len(content)])
        rows.writerow([f"{metadata}/RECORD", "", ""])
        wheel.writestr(zipfile.ZipInfo(f"{metadata}/RECORD"), record.getvalue(), zipfile.ZIP_DEFLATED)


def _belongs_into_a_wheel(path: importlib.metadata.PackagePath) -> bool:
    # Programs lie outside of site-packages (`../../../bin/openenv`); pip makes them anew from the entry points.
    of_the_installation = path.name in _OF_THE_INSTALLATION and path.parts[0].endswith(".dist-info")
    return path.parts[0] != ".." and "__pycache__" not in path.parts and not of_the_installation


def _record_hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _source_files(checkout: Path) -> Iterator[Path]:
    for name in _SOURCES:
        for path in sorted((checkout / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from (checkout / name for name in _SOURCE_FILES if (checkout / name).is_file())


def _kept(state: str, make: Callable[[Path], None]) -> Path:
    """The wheel of a state in the cache, made when it is not there."""
    cache = cache_root() / "wheels"
    home = cache / state
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not is_own_folder(cache):
            raise ProviderError(
                f"openenv-gym's wheel is not taken from {cache}: that is another user's, or open to everybody. Set "
                f"{CACHE_VARIABLE} to a folder of yours."
            )
        if not any(home.glob(_WHEEL_PATTERN)):
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                made = Path(folder) / "made"
                made.mkdir()
                make(made)
                _put(made, home)
        home.touch()
        _forget_all_but_the_latest(cache)
    except OSError as error:
        raise ProviderError(f"openenv-gym's wheel cannot be kept in {cache}: {error}") from error
    return next(home.glob(_WHEEL_PATTERN))


def _put(made: Path, home: Path) -> None:
    try:
        made.rename(home)
    except OSError:
        # Another process was first, with the same wheel.
        if not any(home.glob(_WHEEL_PATTERN)):
            raise


def _forget_all_but_the_latest(cache: Path) -> None:
    homes = [path for path in cache.iterdir() if any(path.glob(_WHEEL_PATTERN))]
    homes.sort(key=lambda path: path.stat().st_mtime)
    for path in homes[:-_KEPT]:
        shutil.rmtree(path, ignore_errors=True)
