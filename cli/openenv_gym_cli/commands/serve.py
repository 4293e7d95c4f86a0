"""``openenv serve``: a project's server, in the foreground."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.exits import ExitCode


def serve(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The project's folder.")] = ".",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port; 0: any that is free. Else as openenv.yaml says."),
    ] = None,
    reload: Annotated[bool, typer.Option("--reload", help="Start anew when a file of the project changes.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Server processes.")] = 1,
    token: Annotated[
        str | None, typer.Option(help="What clients have to show; env:NAME reads it from a variable.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow a public address without a token.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="No deadlines, so that breakpoints work; tracebacks are sent to clients.")
    ] = False,
) -> ExitCode:
    """Serves an environment project until Ctrl-C, and says how to step it.

    Without --token, OPENENV_GYM_TOKEN of the environment is asked for, where it is set.

    $ openenv serve
    $ openenv serve my_game --reload --port 0
    $ openenv serve my_game --host 0.0.0.0 --token env:MY_TOKEN
    """
    from openenv_gym_cli.connecting import make_line
    from openenv_gym_cli.project import read_project
    from openenv_gym_cli.serving import ServedProject, free_port, refuse_public, token_named, until_ended

    project = read_project(path)
    wanted = token_named(token)
    refuse_public(host, has_token=wanted is not None, insecure=insecure)
    if reload and workers > 1:
        raise typer.BadParameter("it goes with one worker only.", param_hint="--reload")
    options = ["--insecure"] * insecure + ["--debug"] * debug + ["--workers", str(workers)] * (workers > 1)
    server = ServedProject(
        project, host, free_port(host, project.manifest.port if port is None else port), options, wanted
    )
    with until_ended(server):
        if not server.is_ready():
            output.error(server.why_not())
            return ExitCode.FAILED
        output.data(server.base_url)
        output.data(make_line(server.base_url, has_token=wanted is not None))
        code = server.follow_changes() if reload else server.wait()
    return ExitCode.FAILED if code else ExitCode.DONE
