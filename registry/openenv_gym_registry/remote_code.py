"""Code from the Hub: installed when somebody says so of one commit, and never otherwise."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openenv_gym_protocol.errors import ConfigurationError, ProviderError

from openenv_gym_registry.hub import require_hub
from openenv_gym_registry.source import Space, is_commit, parse_space

_SHOWN_LINES = 20


@dataclass(frozen=True)
class InstalledSpace:
    """What was installed.

    Attributes:
        space: ``owner/name``.
        revision: The full id of the commit.
        python: The interpreter that has it now.
    """

    space: str
    revision: str
    python: str


def install_space(
    space: str,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
    venv: str | Path | None = None,
    pip_options: Sequence[str] = (),
) -> InstalledSpace:
    """Installs the client package of a Space by pip, for its typed models.

    Nothing needs it: ``gymnasium.make`` and ``GenericEnvClient`` build what they need from the server's schemas.
    Installing runs the code of the Space's author on this machine, with all rights of its user.

    Args:
        space: The Space in any way that people write one.
        revision: The full id of the commit whose code was read and found good.
        trust_remote_code: Says that it may run here.
        venv: The virtual environment to install into; None for that of this interpreter.
        pip_options: Further options of ``pip install``.

    Raises:
        ConfigurationError: It is not trusted, no commit is named, or there is no package in it. Nothing was loaded.
        ProviderError: pip failed; with its last lines.
        OpenEnvGymError: The Hub cannot be asked.
    """
    named = _trusted(parse_space(space), revision, is_trusted=trust_remote_code)
    assert named.id is not None  # or it would not be trusted
    assert named.revision is not None
    python = _interpreter(venv)
    require_hub()
    from openenv_gym_registry.hub.download import download_space

    with tempfile.TemporaryDirectory(prefix="openenv-gym-space-") as folder:
        download_space(named.id, named.revision, Path(folder))
        if not any((Path(folder) / name).is_file() for name in ("pyproject.toml", "setup.py")):
            raise ConfigurationError(f"{named.id} holds no package: there is no pyproject.toml in it.")
        _pip(python, folder, pip_options, named.id)
    return InstalledSpace(named.id, named.revision, python)


def _trusted(space: Space, revision: str | None, *, is_trusted: bool) -> Space:
    why = "Installing a Space runs its author's code on this machine"
    if space.id is None:
        raise ConfigurationError(f"{why}: name the Space by its id, owner/name.")
    if is_trusted is not True:
        raise ConfigurationError(
            f"{why}. Read {space.id} at one commit, then say trust_remote_code=True and revision= with that commit's "
            "full id. Playing it needs none of its code: gymnasium.make and GenericEnvClient.from_env have what they "
            "need from the server."
        )
    if space.revision is not None and revision not in (None, space.revision):
        raise ConfigurationError(f"{space.id}@{space.revision} and revision={revision!r} name two revisions.")
    wanted = revision or space.revision
    if not is_commit(wanted):
        raise ConfigurationError(
            f"{why}, and a branch, a tag or a short id may be another commit tomorrow: revision= takes the full id of "
            f"a commit, 40 letters and digits, not {wanted!r}. The page of {space.id} lists its commits."
        )
    return Space(space.id, wanted, space.subdomain)


def _interpreter(venv: str | Path | None) -> str:
    if venv is None:
        return sys.executable
    python = Path(venv).expanduser().absolute() / "bin" / "python"
    if not python.is_file():
        raise ConfigurationError(
            f"{venv} is no virtual environment: it has no bin/python. Make one: python -m venv {venv}"
        )
    return str(python)


def _pip(python: str, folder: str, options: Sequence[str], name: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-input", *options, folder]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode:
        told = "\n".join((run.stdout + run.stderr).splitlines()[-_SHOWN_LINES:])
        raise ProviderError(f"pip could not install {name} for {python}. Its last lines:\n{told}")
