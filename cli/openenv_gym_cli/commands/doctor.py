"""``openenv doctor``: what this machine has and lacks."""

from __future__ import annotations

from typing import Annotated

import typer

from openenv_gym_cli import output
from openenv_gym_cli.commands.build import Engine
from openenv_gym_cli.exits import ExitCode


def doctor(
    need: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="What has to be there too, such as docker, engine or hub; repeatable."),
    ] = None,
    engine: Engine = None,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> ExitCode:
    """Looks at this machine: versions, extras, engine, port, token, folders. Exit code 1 when something is missing.

    $ openenv doctor
    $ openenv doctor --need engine --need hub
    """
    from openenv_gym_cli.checkup import checkup

    findings = checkup(need or (), engine)
    if json:
        output.data_json([finding._asdict() for finding in findings])
    else:
        rows = [(finding.mark, finding.part, finding.told) for finding in findings]
        output.table(["", "PART", "FOUND"], rows, empty="")
        for finding in findings:
            if finding.remedy and not finding.is_there:
                output.note(f"{finding.part}: {finding.remedy}")
    return ExitCode.FAILED if any(finding.is_missing for finding in findings) else ExitCode.DONE
