"""``openenv pull``: a Space's project, here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openenv_gym_cli import output


def pull(
    space: Annotated[str, typer.Argument(metavar="SPACE[@REVISION]", help="The Space, in any way people write one.")],
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="The folder to make; else its name.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Tell folder and commit as JSON.")] = False,
) -> None:
    """Downloads the project of a Space, at its newest commit or another revision. None of its code is run.

    $ openenv pull owner/my_game
    $ openenv pull owner/my_game@3f9c2a7 ~/envs/my_game
    """
    from openenv_gym_registry.pulling import pull as pull_space

    with output.progress(f"downloading {space}"):
        pulled = pull_space(space, folder)
    if json:
        output.data_json({"space": pulled.space, "revision": pulled.revision, "folder": str(pulled.folder)})
        return
    output.data(str(pulled.folder))
    output.note(
        f"{pulled.space} at {pulled.revision}. Read its code before it runs here; `openenv run` has it in a container."
    )
