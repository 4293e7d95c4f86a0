"""``openenv push``: a project as a Space, or its image in a registry."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import Engine
from openenv_gym_cli.exits import ExitCode

Visibility = Annotated[
    bool | None, typer.Option("--private/--public", help="Who sees a new Space; by default as your settings there say.")
]
Secret = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME", help="A secret of the Space, with this variable's value; repeatable."),
]
Variable = Annotated[
    list[str] | None, typer.Option("--variable", metavar="NAME=VALUE", help="A variable of the Space; repeatable.")
]
Waiting = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the Space runs, and check it.")]
Timeout = Annotated[float, typer.Option(min=1, metavar="SECONDS", help="How long to wait for the Space.")]


def push(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The project's folder.")] = ".",
    space: Annotated[str | None, typer.Option(metavar="OWNER/NAME", help="The Hugging Face Space.")] = None,
    registry: Annotated[
        str | None, typer.Option(metavar="NAME", help="An image registry, such as ghcr.io/owner, for the built image.")
    ] = None,
    private: Visibility = None,
    secret: Secret = None,
    variable: Variable = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="A file that looks like a secret and is none; repeatable.")
    ] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="What the commit says.")] = "openenv push",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be uploaded, and stop.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Waiting = True,
    timeout: Timeout = 900.0,
    engine: Engine = None,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> ExitCode:
    """Uploads a project to a Hugging Face Space, waits until it runs there, and checks it.

    What is uploaded is listed and asked about first: the folder without what .gitignore, .dockerignore and
    .openenvignore leave out. The Space then has exactly that. The token is HF_TOKEN, or that of `hf auth login`.

    $ openenv push my_game --space owner/my_game --dry-run
    $ openenv push my_game --space owner/my_game --private --secret OPENENV_GYM_TOKEN
    $ openenv push my_game --registry ghcr.io/owner
    """
    from openenv_gym_cli.project import read_project
    from openenv_gym_cli.pushing import PushRequest, push_image, push_space

    if (space is None) == (registry is None):
        raise typer.BadParameter("say where: --space OWNER/NAME or --registry NAME.", param_hint="--space")
    if registry is not None and (secret or variable or allow or private is not None):
        raise typer.BadParameter("an image takes no secrets, variables or visibility.", param_hint="--registry")
    project = read_project(path)
    if registry is not None:
        return push_image(project, registry, engine=engine, dry_run=dry_run, yes=yes, as_json=json)
    assert space is not None
    request = PushRequest(
        space=space,
        private=private,
        secrets=tuple(secret or ()),
        variables=tuple(variable or ()),
        allowed=tuple(allow or ()),
        message=message,
        wait_seconds=timeout if wait else None,
    )
    code = push_space(project, request, dry_run=dry_run, yes=yes, as_json=json)
    if code is ExitCode.DONE and not dry_run:
        output.note(f'gymnasium.make("openenv_gym:openenv/Space-v0", space="{space}") steps it.')
    return code
