"""``openenv list``: the environments that are here."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output


def list_(
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> None:
    """Lists the environments that have an id here: bundled ones, installed packages', and known Spaces.

    Nothing is started and no network is used.

    $ openenv list
    $ openenv list --json
    """
    from openenv_gym_cli.catalogue import listed

    rows = listed()
    if json:
        output.data_json([row._asdict() for row in rows])
        return
    output.table(["ID", "KIND", "FROM", "WHAT"], rows, empty="There are none.")
