"""The application: its commands, each imported when it is used or its help is shown."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from openenv_gym_cli import output
from openenv_gym_cli.exits import ending_well

_MAKE, _RUN, _SHARE, _FIND, _MACHINE = "Make", "Build and run", "Share", "Find", "This machine"

COMMANDS = {
    "init": _MAKE,
    "serve": _MAKE,
    "validate": _MAKE,
    "build": _RUN,
    "run": _RUN,
    "push": _SHARE,
    "pull": _SHARE,
    "fork": _SHARE,
    "list": _FIND,
    "info": _FIND,
    "search": _FIND,
    "ps": _MACHINE,
    "stop": _MACHINE,
    "reap": _MACHINE,
    "doctor": _MACHINE,
}
"""Each command and the part of the help in which it stands. Module and function have its name (``list_`` for Python's
own)."""

_PYTHONS_OWN = ("list",)


class Commands(TyperGroup):
    """The commands, by their names."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, imported now."""
        # Of a name that there is not, the nearest is looked for among all.
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = _command(name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """All names, in the order of the help."""
        return list(COMMANDS)


def help_text(function: Callable[..., Any]) -> str:
    """A docstring as help: its examples, which begin with ``$``, stay as they are, and brackets are no markup."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    told = [f"\b\n{each}" if each.startswith("$") else each for each in paragraphs]
    return "\n\n".join(told).replace("[", "\\[")


def _command(name: str) -> Any:
    module = import_module(f"openenv_gym_cli.commands.{name}{'_' if name in _PYTHONS_OWN else ''}")
    function = getattr(module, module.__name__.rpartition(".")[2])
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name, help=help_text(function), rich_help_panel=COMMANDS[name])(ending_well(function))
    return get_command(single)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        output.data(f"openenv-gym {version('openenv-gym')}")
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    name="openenv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback is for who asks for it, and then Python's own.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(
    version: Annotated[
        bool, typer.Option("--version", help="Tell the version.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """Make, check, publish and find environments.

    $ openenv init my_game          a project that passes its own tests
    $ openenv serve my_game         serve it, and see how to step it
    $ openenv search chess          Spaces that serve environments
    """


app.callback(help=help_text(main))(main)
