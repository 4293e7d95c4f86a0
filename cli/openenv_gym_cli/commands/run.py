"""``openenv run``: a container that serves an environment."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import BaseImage, BuildArgument, Engine, Wheel
from openenv_gym_cli.exits import ExitCode


def run(
    target: Annotated[str, typer.Argument(metavar="PATH|IMAGE", help="A project's folder, or an image's name.")] = ".",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Where to publish it; by default any.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A variable of the server; repeatable.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of containers, such as memory=512m; repeatable."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="What clients have to show, or env:NAME; by default a random one.")
    ] = None,
    rebuild: Annotated[bool, typer.Option("--build", help="Build the project's image even if there is one.")] = False,
    base_image: BaseImage = None,
    build_arg: BuildArgument = None,
    wheel: Wheel = None,
    engine: Engine = None,
) -> ExitCode:
    """Runs an environment in a hardened container until Ctrl-C: builds its image if need be, follows its log.

    $ openenv run my_game
    $ openenv run openenv-echo:0.1.0 --port 8000
    $ openenv run . --build --option memory=512m --option egress=false
    """
    from openenv_gym_cli.containers import container_request, followed
    from openenv_gym_cli.images import build_with_progress
    from openenv_gym_cli.project import folder_named, read_project
    from openenv_gym_cli.serving import token_named

    folder = folder_named(target)
    project = None if folder is None else read_project(folder)
    request = container_request(
        project,
        target,
        options=option or (),
        settings=setting or (),
        port=port,
        engine=engine,
        token=None if token is None else token_named(token),
    )
    if project is not None and (rebuild or not _is_built(project.folder, engine)):
        build_with_progress(
            project, base_image=base_image, build_args=build_arg or (), wheels=wheel or (), engine=engine
        )
    return ExitCode.FAILED if followed(request) else ExitCode.DONE


def _is_built(folder: object, engine: str | None) -> bool:
    from openenv_gym.providers.docker.inventory import has_image
    from openenv_gym.providers.docker.tags import project_tag

    tag = project_tag(str(folder))
    found = has_image(tag, engine)
    if found:
        output.note(f"Running {tag} as it was built; --build builds it anew.")
    return found
