"""``openenv fork``: a Space of one's own, made of another."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli.commands.push import Secret, Timeout, Variable, Visibility, Waiting


def fork(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="The Space to copy.")],
    target: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The Space to make.")],
    private: Visibility = None,
    secret: Secret = None,
    variable: Variable = None,
    wait: Waiting = True,
    timeout: Timeout = 900.0,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> None:
    """Copies a Space, as it is now, into one of your own, where you may change it. Its secrets are not copied.

    $ openenv fork openenv/echo_env owner/my_echo --private
    """
    from openenv_gym_cli.pushing import fork_space

    fork_space(
        space,
        target,
        private=private,
        secrets=secret or (),
        variables=variable or (),
        wait_seconds=timeout if wait else None,
        as_json=json,
    )
