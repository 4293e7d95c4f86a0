"""``openenv validate``: the conformance kit, for a project, an image or a server that runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import BaseImage, BuildArgument, Engine, Wheel
from openenv_gym_cli.exits import ExitCode

if TYPE_CHECKING:
    from openenv_gym_cli.validation import Checked


def validate(
    path: Annotated[str | None, typer.Argument(metavar="PATH", help="The project's folder; by default this.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of a server that runs, instead of a project.")] = None,
    image: Annotated[str | None, typer.Option(help="An image to run in a container, instead of a project.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Run the project's code in a process of this machine, not in a container.")
    ] = False,
    static: Annotated[bool, typer.Option("--static", help="Look at manifest and files only; run nothing.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Advice on security and style is a failure.")] = False,
    check: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this check or group; repeatable.")
    ] = None,
    actions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A JSON list of actions to step with, instead of drawn ones."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="What the server of --url asks for; env:NAME reads it from a variable.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the server may take for an answer.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it as JUnit's XML too.")] = None,
    base_image: BaseImage = None,
    build_arg: BuildArgument = None,
    wheel: Wheel = None,
    engine: Engine = None,
) -> ExitCode:
    """Checks a project, an image, or any OpenEnv server that runs. Exit code 1 when a check failed.

    A project's code runs in a container, whose image is built, or with --trust in a process of this machine.

    $ openenv validate my_game --trust
    $ openenv validate --url http://localhost:8000
    $ openenv validate --image openenv-my_game:0.1.0 --junit report.xml
    """
    from openenv_gym_cli.serving import token_named
    from openenv_gym_cli.validation import Wanted, checked_image, checked_project, checked_server

    if sum(each is not None for each in (path, url, image)) > 1:
        raise typer.BadParameter("PATH, --url and --image are three ways to say what to check: give one of them.")
    if (url or image) and (trust or static):
        raise typer.BadParameter("--trust and --static are about a project's folder: give PATH.")
    wanted = Wanted.read(checks=check or (), strict=strict, actions=actions, timeout=timeout)
    if url is not None:
        checked = checked_server(url, token_named(token), wanted)
    elif image is not None:
        checked = checked_image(image, wanted, engine)
    else:
        build = {"base_image": base_image, "build_args": build_arg or (), "wheels": wheel or (), "engine": engine}
        checked = checked_project(path or ".", wanted, trust=trust, static=static, build=build)
    return _told(checked, as_json=json, junit=junit)


def _told(checked: Checked, *, as_json: bool, junit: Path | None) -> ExitCode:
    report = checked.report
    if junit is not None:
        output.to_file(junit, report.to_junit())
    if as_json:
        output.data_json(report.to_json())
    else:
        rows = [(finding.status, finding.group, finding.check, finding.message) for finding in report.findings]
        output.table(["", "GROUP", "CHECK", "FOUND"], rows, empty="Nothing was checked.")
        for finding in report.findings:
            if finding.remedy:
                output.note(f"{finding.check}: {finding.remedy}")
    if report.failed:
        output.error(f"{len(report.failed)} of {len(report.findings)} checks failed.")
        return ExitCode.FAILED
    if checked.why_not_run:
        output.error(checked.why_not_run)
        return ExitCode.WRONG_INPUT
    if not report.findings:
        output.error("None of the chosen checks is about what was named: some are about folders, others about servers.")
        return ExitCode.WRONG_INPUT
    return ExitCode.DONE
