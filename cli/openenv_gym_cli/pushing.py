"""What ``push`` and ``fork`` show, ask and wait for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openenv_gym_protocol.errors import ConfigurationError, ServerStartError

from openenv_gym.providers.server_environ import TOKEN_VARIABLE
from openenv_gym_cli import output
from openenv_gym_cli.exits import ExitCode
from openenv_gym_cli.images import pairs
from openenv_gym_cli.project import Project

if TYPE_CHECKING:
    from openenv_gym_registry.publishing import PushPlan


@dataclass(frozen=True)
class PushRequest:
    """What the user wants of a Space.

    Attributes:
        space: ``owner/name``.
        private: The visibility of a new one.
        secrets: Names of variables here that hold them.
        variables: ``NAME=VALUE`` each.
        allowed: Paths that look like secrets and are none.
        message: What the commit says.
        wait_seconds: How long to wait until it runs; None: not at all.
    """

    space: str
    private: bool | None
    secrets: tuple[str, ...]
    variables: tuple[str, ...]
    allowed: tuple[str, ...]
    message: str
    wait_seconds: float | None


def push_space(project: Project, request: PushRequest, *, dry_run: bool, yes: bool, as_json: bool) -> ExitCode:
    """Lists what would be uploaded, asks, uploads, waits and checks.

    Raises:
        OpenEnvGymError: See ``openenv_gym_registry.publishing``.
    """
    from openenv_gym_registry.publishing import plan_push, push

    secrets, variables = named_secrets(request.secrets), named_variables(request.variables)
    plan = plan_push(project.folder, request.space, private=request.private, allowed=request.allowed, secrets=secrets)
    if dry_run:
        _tell_plan(plan, as_json=as_json)
        return ExitCode.DONE
    plan.check_token()  # nobody is asked in vain
    _note_plan(plan)
    if not output.confirmed(f"Upload this to {plan.space}?", yes=yes):
        return ExitCode.WRONG_INPUT
    with output.progress(f"pushing to {plan.space}") as shown:
        commit = push(plan, request.message, secrets=secrets, variables=variables, tell=shown.line)
    _wait_and_check(plan.space, commit, request.wait_seconds, secrets.get(TOKEN_VARIABLE))
    _tell_space(plan.space, commit, as_json=as_json)
    return ExitCode.DONE


def fork_space(
    original: str,
    target: str,
    *,
    private: bool | None,
    secrets: Iterable[str],
    variables: Iterable[str],
    wait_seconds: float | None,
    as_json: bool,
) -> None:
    """Copies a Space, waits and checks.

    Raises:
        OpenEnvGymError: See ``openenv_gym_registry.publishing``.
    """
    from openenv_gym_registry.publishing import fork

    known = named_secrets(secrets)
    made = fork(original, target, private=private, secrets=known, variables=named_variables(variables))
    _wait_and_check(made, None, wait_seconds, known.get(TOKEN_VARIABLE))
    _tell_space(made, None, as_json=as_json)


def push_image(
    project: Project, registry: str, *, engine: str | None, dry_run: bool, yes: bool, as_json: bool
) -> ExitCode:
    """Pushes a project's image, which was built before, to a registry.

    Raises:
        OpenEnvGymError: There is no engine or no image, or the registry refuses it.
    """
    from openenv_gym.providers.docker.pushing import push_image as push_to
    from openenv_gym.providers.docker.tags import project_tag

    tag = project_tag(project.folder)
    name = f"{registry.rstrip('/')}/{tag}"
    if dry_run:
        _tell({"image": name}, name, as_json=as_json)
        return ExitCode.DONE
    if not output.confirmed(f"Push {tag} as {name}?", yes=yes):
        return ExitCode.WRONG_INPUT
    with output.progress(f"pushing {name}") as shown:
        digest = push_to(tag, name, engine=engine, on_output=shown.line)
    _tell({"image": name, "digest": digest}, digest, as_json=as_json)
    return ExitCode.DONE


def named_secrets(names: Iterable[str]) -> dict[str, str]:
    """The values of secrets, which are never arguments: others see those.

    Args:
        names: The variables here that hold them.

    Raises:
        ConfigurationError: One is not set, or a value was given.
    """
    found = {}
    for name in names:
        if "=" in name:
            kept = name.partition("=")[0]
            raise ConfigurationError(
                f"--secret takes a name alone: others on this machine see arguments. Set the variable {kept}, and say "
                f"--secret {kept}."
            )
        _check_name("--secret", name)
        value = os.environ.get(name)
        if not value:
            raise ConfigurationError(f"--secret {name}: the variable {name} is not set here.")
        found[name] = value
    return found


def named_variables(texts: Iterable[str]) -> dict[str, str]:
    """The values of variables by name.

    Raises:
        ConfigurationError: One is not ``NAME=VALUE``.
    """
    found = pairs("--variable", texts)
    for name in found:
        _check_name("--variable", name)
    return found


def _check_name(option: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ConfigurationError(f"{option}: {name!r} cannot be the name of a variable.")


def _note_plan(plan: PushPlan) -> None:
    for file in plan.files:
        output.note(f"  {file.path}  {_size(file.size)}")
    for path in plan.removed:
        output.note(f"  {path}  is removed")
    output.note(_summary(plan))


def _summary(plan: PushPlan) -> str:
    seen = {True: "private", False: "public", None: "as your settings there say"}[plan.private]
    made = "which is made" if plan.is_new else "which there is"
    removed = f", {len(plan.removed)} removed" if plan.removed else ""
    return f"{len(plan.files)} files, {_size(plan.size)}{removed}; to the Space {plan.space}, {made} ({seen})."


def _tell_plan(plan: PushPlan, *, as_json: bool) -> None:
    if as_json:
        files = [{"path": file.path, "size_bytes": file.size} for file in plan.files]
        output.data_json({"space": plan.space, "is_new": plan.is_new, "files": files, "removed": list(plan.removed)})
        return
    rows = [(file.path, _size(file.size)) for file in plan.files] + [(path, "removed") for path in plan.removed]
    output.table(["FILE", "SIZE"], rows, empty="There is nothing to upload.")
    output.note(f"{_summary(plan)} Nothing was uploaded.")


def _wait_and_check(space: str, commit: str | None, seconds: float | None, token: str | None) -> None:
    if seconds is None:
        return
    from openenv_gym_registry.publishing import wait_until_running

    from openenv_gym.testing.conformance import Status, validate_server

    with output.progress(f"waiting for {space}") as shown:
        status = wait_until_running(space, commit, seconds, lambda stage: shown.line(f"{space}: {stage}"))
        shown.line(f"{space}: being checked")
        report = validate_server(status.base_url, token=token, headers=status.headers)
    if not report.is_ok:
        told = "\n".join(f"  {each.check}: {each.message} {each.remedy}".rstrip() for each in report.failed)
        raise ServerStartError(f"{space} runs, but does not do what an environment has to:\n{told}")
    passed = sum(each.status is Status.PASSED for each in report.findings)
    output.note(f"{space} runs and passed {passed} checks; `openenv validate --url {status.base_url}` tells more.")


def _tell_space(space: str, commit: str | None, *, as_json: bool) -> None:
    from openenv_gym_registry.space_address import address_of

    page = address_of(space).page_url
    _tell({"space": space, "revision": commit, "url": page}, page, as_json=as_json)


def _tell(facts: dict[str, str | None], text: str, *, as_json: bool) -> None:
    if as_json:
        output.data_json(facts)
    else:
        output.data(text)


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"
