"""``openenv reap``: ends what dead programs left."""

from __future__ import annotations

from typing import Annotated

import typer
from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import Engine


def reap(
    engine: Engine = None,
    json: Annotated[bool, typer.Option("--json", help="Tell what was removed as JSON.")] = False,
) -> None:
    """Ends servers whose programs have ended without doing so, and removes what they left.

    Nothing that a running program uses is touched. The next program that needs a server does the same.

    $ openenv reap
    """
    from openenv_gym.providers.inventory import reap_pools

    removed = []
    try:
        from openenv_gym.providers.docker.inventory import remove_left_over

        removed += remove_left_over(engine)
    except OpenEnvGymError as error:
        if engine is not None:
            raise
        output.note(f"Containers are not looked for. {error.message}")
    removed += reap_pools()
    if json:
        output.data_json(removed)
        return
    for name in removed:
        output.data(name)
    if not removed:
        output.note("Nothing was left over.")
