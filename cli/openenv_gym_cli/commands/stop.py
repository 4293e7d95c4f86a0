"""``openenv stop``: ends servers that run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from openenv_gym_protocol.errors import ConfigurationError, nearest

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import Engine
from openenv_gym_cli.exits import ExitCode

if TYPE_CHECKING:
    from openenv_gym_cli.running import Running


def stop(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids or names that `openenv ps` lists.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that `openenv ps` lists.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    engine: Engine = None,
) -> ExitCode:
    """Ends servers. It asks first where a program that still runs has started one: that program's sessions are lost.

    $ openenv stop 3f9c2a71b0de
    $ openenv stop --all --yes
    """
    from openenv_gym_cli.running import all_running

    if bool(ids) == everything:
        raise typer.BadParameter("name what is to end, or say --all.", param_hint="ID")
    running = all_running(engine)
    named = [_named(each, running) for each in ids or ()]
    chosen = running if everything else list({each.id: each for each in named}.values())
    used = [each for each in chosen if not each.is_left_over]
    if used and not output.confirmed(_question(used), yes=yes):
        return ExitCode.WRONG_INPUT
    for each in chosen:
        each.end()
        output.data(each.id)
    if not chosen:
        output.note("Nothing of openenv-gym runs.")
    return ExitCode.DONE


def _question(used: list[Running]) -> str:
    told = "\n".join(
        f"  {each.kind} {each.id} ({each.what}), used by {each.owner or 'nobody knows whom'}" for each in used
    )
    return f"{told}\nEnd {'it' if len(used) == 1 else f'these {len(used)}'}, by which the sessions there are lost?"


def _named(text: str, running: list[Running]) -> Running:
    found = [each for each in running if text in (each.id, each.name)]
    found = found or [each for each in running if text and each.id.startswith(text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigurationError(f"{text!r} is the beginning of {len(found)} ids: write more of it.")
    raise ConfigurationError(f"Nothing that runs is called {text!r}. {nearest(text, [each.id for each in running])}")
