"""``openenv ps``: what of ours runs."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import Engine


def ps(
    engine: Engine = None,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> None:
    """Lists the servers that programs here have started: processes of this user, and containers of the engine.

    $ openenv ps
    $ openenv ps --json
    """
    from openenv_gym_cli.running import all_running

    running = all_running(engine)
    if json:
        output.data_json([each.to_json() for each in running])
        return
    rows = [(each.id, each.kind, each.what, each.base_url, each.age, each.state, each.owner) for each in running]
    output.table(["ID", "KIND", "WHAT", "ADDRESS", "AGE", "STATE", "OWNER"], rows, empty="Nothing of openenv-gym runs.")
