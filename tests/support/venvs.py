"""Virtual environments for tests that need other packages than this one has, made when first asked for and kept.

They lie in ``$OPENENV_GYM_VENVS``, else in ``.venvs`` of the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

SOURCE_ROOTS = (
    "",
    "protocol",
    "server",
    "registry",
    "cli",
    *(f"envs/{manifest.parent.name}" for manifest in sorted(REPOSITORY.glob("envs/*/openenv.yaml"))),
)
"""What an editable install of this checkout has on the path."""

_INSTALL_SECONDS = 1800

_failures: dict[Path, str] = {}
"""What could not be made, and why: it is not tried twice in one run."""


class VenvUnavailable(Exception):
    """The environment is not there and cannot be made: no network, or pip failed."""


def virtual_environment(
    name: str, requirements: Sequence[str], *, with_ours: bool = False, base: Path | None = None
) -> Path:
    """The interpreter of a virtual environment.

    Args:
        name: The environment's name.
        requirements: What pip installs, all at once. Another list makes the environment anew.
        with_ours: Whether this checkout is importable there, as it is. Its own requirements are not installed; see
            ``own_requirements``.
        base: The interpreter of another one, of which it begins as a copy: so that much is installed once only.

    Raises:
        VenvUnavailable: It is not there and could not be made.
    """
    home = venvs_root() / name
    if home in _failures:
        raise VenvUnavailable(_failures[home])
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.with_suffix(home.suffix + ".lock")):
        if not is_there(name, requirements):
            try:
                _make(home, requirements, with_ours=with_ours, base=base)
            except VenvUnavailable as error:
                _failures[home] = str(error)
                raise
    return home / "bin" / "python"


def is_there(name: str, requirements: Sequence[str]) -> bool:
    """Whether an environment was made already."""
    marker = venvs_root() / name / "complete.json"
    return marker.is_file() and json.loads(marker.read_text(encoding="utf-8")) == _stamp(requirements)


def own_requirements(*extras: str, without: str = "") -> list[str]:
    """What this checkout requires, by its pyproject.toml.

    Args:
        *extras: Extras whose requirements are wanted besides.
        without: A package to leave out, because another version of it is asked for.
    """
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(each for name in extras for each in project["optional-dependencies"][name])]
    return [each for each in wanted if not (without and each.startswith(without))]


def venvs_root() -> Path:
    """Where the environments lie."""
    given = os.environ.get("OPENENV_GYM_VENVS")
    return Path(given).absolute() if given else REPOSITORY / ".venvs"


def _stamp(requirements: Sequence[str]) -> dict[str, str]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    text = "\n".join([*requirements, str(REPOSITORY)])
    return {"python": python, "requirements": hashlib.sha256(text.encode()).hexdigest()}


def _make(home: Path, requirements: Sequence[str], *, with_ours: bool, base: Path | None) -> None:
    if home.exists():
        shutil.rmtree(home)
    shutil.copytree(base.parents[1] if base else _empty(), home, symlinks=True)
    (home / "complete.json").unlink(missing_ok=True)
    _install(home, requirements)
    if with_ours:
        _add_source_roots(home)
    (home / "complete.json").write_text(json.dumps(_stamp(requirements)), encoding="utf-8")


def _empty() -> Path:
    # pip takes longer to be installed than a copy of it all does.
    home = REPOSITORY / ".venvs" / f"empty-{sys.version_info.major}.{sys.version_info.minor}"
    complete = home / "complete.json"
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.with_suffix(home.suffix + ".lock")):
        if not complete.exists():
            try:
                venv.create(home, clear=True, with_pip=True, symlinks=True)
            except (OSError, subprocess.CalledProcessError) as error:
                said = f"No virtual environment can be made in {home} (python3-venv?): {error}"
                raise VenvUnavailable(said) from error
            complete.touch()
    return home


def _install(home: Path, requirements: Sequence[str]) -> None:
    python = str(home / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise VenvUnavailable(f"pip took more than {_INSTALL_SECONDS} s to install into {home}.") from None
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-15:])
        raise VenvUnavailable(f"pip could not install {requirements[0]} into {home}:\n{last}")


def _add_source_roots(home: Path) -> None:
    # As an editable install does, but without its build: the checkout is seen as it is.
    (site_packages,) = home.glob("lib/python3*/site-packages")
    lines = [str(REPOSITORY / root) for root in SOURCE_ROOTS]
    (site_packages / "openenv_gym_checkout.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
