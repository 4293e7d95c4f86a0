"""``openenv init``: a new project."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from openenv_gym_cli import output


class Template(StrEnum):
    """What the new project is made after."""

    TYPED = "typed"
    MCP = "mcp"
    GYMNASIUM = "gymnasium"


def init(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What it is called: small letters, digits and _, such as my_game.")
    ],
    template: Annotated[
        Template,
        typer.Option(help="typed: actions and observations of your own; mcp: tools; gymnasium: a gymnasium.Env."),
    ] = Template.TYPED,
    path: Annotated[Path | None, typer.Option(help="The folder to make; by default NAME, here.")] = None,
) -> None:
    """Makes an environment project that passes its own tests, ruff, mypy and validate.

    Nothing that exists is touched.

    $ openenv init my_game
    $ openenv init my_tools --template mcp
    $ openenv init my_game --path ~/envs/my_game
    """
    from openenv_gym_cli.scaffold import make_project, new_project

    project = new_project(name, template.value, Path(name) if path is None else path)
    folder = make_project(project)
    output.data(str(folder))
    output.note(
        f"Made {project.id} after the template {template.value!r}. Its rules are in {project.package}/environment.py.\n"
        f"  cd {shlex.quote(str(path or name))}\n"
        "  openenv serve --reload\n"
        "  openenv validate"
    )
