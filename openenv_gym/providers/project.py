"""What providers need to know of an environment project's folder."""

from __future__ import annotations

import functools
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from openenv_gym_protocol.errors import ConfigurationError

DEFAULT_APPLICATION = "server.app:app"
"""The ASGI application of a project whose ``openenv.yaml`` names no other."""

_MANIFEST = "openenv.yaml"
_APPLICATION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_BRING_UVICORN = ("uvicorn", "openenv")
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True)
class Project:
    """An environment project that can be run.

    Attributes:
        folder: Where it lies.
        application: Its ASGI application, as ``module:attribute``.
    """

    folder: Path
    application: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.folder)

    @classmethod
    def read(cls, path: str | None) -> Project:
        """Finds the application of the project in a folder.

        Raises:
            ConfigurationError: There is no such folder, or no project in it; the message says what is missing.
        """
        if not path:
            raise ConfigurationError("The process provider needs path=, the folder of an environment project.")
        folder = Path(path).expanduser().absolute()
        if not folder.is_dir():
            raise ConfigurationError(f"{folder} is not a folder. path= must name an environment project.")
        application = _application(folder)
        if application == DEFAULT_APPLICATION and not (folder / "server" / "app.py").is_file():
            raise ConfigurationError(
                f"{folder} is not an environment project: it has no server/app.py"
                + ("." if (folder / _MANIFEST).exists() else " and no openenv.yaml.")
            )
        return cls(folder, application)

    def install_line(self, python: str, missing: str) -> str:
        """The command that installs what the project needs.

        Args:
            python: The interpreter that lacks a module.
            missing: The module, for a project that does not list its dependencies.
        """
        first = missing.partition(".")[0]
        needed = self._needed_to_serve()
        if first == "uvicorn" and not any(each.startswith(_BRING_UVICORN) for each in needed):
            needed = ["uvicorn[standard]", *needed]
        return shlex.join([python, "-m", "pip", "install", *(needed or [first])])

    def _needed_to_serve(self) -> list[str]:
        try:
            data = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            listed = [*data.get("dependencies", []), *data.get("optional-dependencies", {}).get("server", [])]
            # By name: what serving needs of a distribution goes before what its clients need.
            return list({_distribution(each): each for each in listed}.values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # No such file, or one that lists none: the missing module's name is all there is to say.
            return []


def _distribution(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def missing_module(logs: str) -> str | None:
    """The module whose import failed last in a server's log, if one did."""
    found = _MISSING_MODULE.findall(logs)
    return str(found[-1]) if found else None


def manifest_data(folder: Path) -> dict[str, Any]:
    """What a project's ``openenv.yaml`` says, as it stands there; nothing for a folder without one.

    Raises:
        ConfigurationError: The file cannot be read, or holds no mapping.
    """
    manifest = folder / _MANIFEST
    if not manifest.exists():
        return {}
    try:
        data: Any = _parsed(manifest.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # PyYAML's own of the 13th month, and of other values that are none of their kind.
        raise ConfigurationError(f"{manifest} cannot be read: {error}") from error
    if data is not None and not isinstance(data, dict):
        raise ConfigurationError(f"{manifest} must hold a mapping.")
    return dict(data or {})


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    # Every environment that is made asks three times, and a long manifest takes a tenth of a second.
    return yaml.safe_load(text)


def _application(folder: Path) -> str:
    application = manifest_data(folder).get("app") or DEFAULT_APPLICATION
    if not isinstance(application, str) or _APPLICATION.fullmatch(application) is None:
        raise ConfigurationError(f"{folder / _MANIFEST}: app: must be module:attribute, not {application!r}.")
    return application
