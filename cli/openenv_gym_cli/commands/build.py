"""``openenv build``: a project's image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openenv_gym_cli import output

BuildArgument = Annotated[
    list[str] | None, typer.Option("--build-arg", metavar="NAME=VALUE", help="A build argument; repeatable.")
]
BaseImage = Annotated[str | None, typer.Option(help="The image to build on, instead of the Dockerfile's.")]
Wheel = Annotated[list[Path] | None, typer.Option("--wheel", metavar="FILE", help="A wheel for the build; repeatable.")]
Engine = Annotated[str | None, typer.Option(help="The engine's address; by default DOCKER_HOST, or the context's.")]


def build(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The project's folder.")] = ".",
    tag: Annotated[str | None, typer.Option(help="What the image is called; by default openenv-NAME:VERSION.")] = None,
    base_image: BaseImage = None,
    build_arg: BuildArgument = None,
    wheel: Wheel = None,
    platform: Annotated[str | None, typer.Option(help="What it is to run on, such as linux/arm64.")] = None,
    network: Annotated[str | None, typer.Option(help="The network of the build's commands, such as host.")] = None,
    engine: Engine = None,
    json: Annotated[bool, typer.Option("--json", help="Tell tag, id and size as JSON.")] = False,
) -> None:
    """Builds the image of an environment project, without the docker command.

    Nothing is written into the project's folder.

    $ openenv build
    $ openenv build my_game --tag registry.example/team/my_game:1.0
    $ openenv build --build-arg PIP_INDEX_URL=https://pypi.example/simple
    """
    from openenv_gym_cli.images import build_with_progress
    from openenv_gym_cli.project import read_project

    built = build_with_progress(
        read_project(path),
        tag=tag,
        base_image=base_image,
        build_args=build_arg or (),
        wheels=wheel or (),
        platform=platform,
        network=network,
        engine=engine,
    )
    if json:
        output.data_json({"tag": built.tag, "id": built.id, "size_bytes": built.size})
        return
    output.data(built.tag)
    output.note(f"Built {built.id[:19]}, {built.size / 1e6:.0f} MB. `openenv run {built.tag}` runs it.")
