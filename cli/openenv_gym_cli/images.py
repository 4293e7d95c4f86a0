"""Building an image with its progress shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_cli import output
from openenv_gym_cli.project import Project

if TYPE_CHECKING:
    from openenv_gym.providers.docker import BuiltImage

_STEP = re.compile(r"Step (\d+)/(\d+) : (.*)")


def build_with_progress(
    project: Project, *, build_args: Sequence[str] = (), wheels: Iterable[Path] = (), **options: Any
) -> BuiltImage:
    """Builds a project's image; each line of the build is shown beside the data.

    Args:
        project: The project.
        build_args: ``NAME=VALUE`` each.
        wheels: Wheels for ``vendor/``.
        **options: Further ones of ``openenv_gym.providers.docker.build_image``.

    Raises:
        ConfigurationError, ProviderError: See ``build_image``.
    """
    from openenv_gym.providers.docker import build_image

    arguments = pairs("--build-arg", build_args)
    with output.progress(f"building {project.name}") as shown:

        def tell(line: str) -> None:
            found = _STEP.match(line)
            if found:
                shown.to(int(found[1]) - 1, int(found[2]), f"step {found[1]} of {found[2]}: {found[3]}")
            if line.strip():
                shown.line(line)

        return build_image(project.folder, build_args=arguments, wheels=wheels, on_output=tell, **options)


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Reads options of the form ``NAME=VALUE``.

    Raises:
        ConfigurationError: One has another form.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ConfigurationError(f"{option} is NAME=VALUE, not {text!r}.")
        found[name] = value
    return found
