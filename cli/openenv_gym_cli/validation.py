"""What ``openenv validate`` checks, and where it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import (
    ConfigurationError,
    ConnectError,
    ConnectTimeout,
    ProviderError,
    Unauthorized,
)

from openenv_gym.providers.base import Provider, ServerHandle, ServerRequest
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.requests import server_request
from openenv_gym.testing.conformance import CHECKS, Check, Declaration, Report, validate_project, validate_server
from openenv_gym.testing.conformance.checks import chosen
from openenv_gym.testing.conformance.folder import ProjectFolder
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym_cli import output
from openenv_gym_cli.exits import ending_by_signal
from openenv_gym_cli.project import MANIFEST_NAME, project_folder, read_project, shown_line

_MANIFEST_CHECKS = ("manifest", "application-file")
"""Where one of them fails, there is nothing to serve."""

_HOW_TO_RUN = "Say --trust to run its code in a process of this machine, or --static to leave it at this."


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked for, whatever is checked.

    Attributes:
        checks: Only these checks or groups; empty: all.
        strict: Whether advice on security and style is a failure.
        actions: What to step with; None: what is drawn.
        timeout: Seconds for an answer.
    """

    checks: Collection[str]
    strict: bool
    actions: list[dict[str, Any]] | None
    timeout: float

    @classmethod
    def read(cls, *, checks: Collection[str], strict: bool, actions: Path | None, timeout: float) -> Wanted:
        """Reads it from the command's options.

        Raises:
            ConfigurationError: There is no such check, or the file holds no list of actions.
        """
        chosen(checks, static=True)
        return cls(
            checks=checks, strict=strict, actions=None if actions is None else _read_actions(actions), timeout=timeout
        )

    @property
    def has_dynamic(self) -> bool:
        """Whether one of the checks needs a server."""
        return bool(chosen(self.checks, static=False))


@dataclass(frozen=True)
class Checked:
    """What was found.

    Attributes:
        report: The findings.
        why_not_run: Why no server was checked, where one should have been.
    """

    report: Report
    why_not_run: str = ""


def checked_server(url: str, token: str | None, wanted: Wanted, declared: Declaration | None = None) -> Checked:
    """Checks a server that runs.

    Args:
        url: Its address.
        token: What it asks for, or ``env:NAME``.
        wanted: What is asked for.
        declared: What its project promises.

    Raises:
        ConfigurationError: It cannot be reached, or asks for another token.
    """
    with output.progress(f"checking {url}") as shown:
        try:
            report = validate_server(
                url,
                token=token,
                timeout=wanted.timeout,
                declared=declared,
                actions=wanted.actions,
                checks=wanted.checks,
                strict=wanted.strict,
                on_check=_telling(shown),
            )
        except (ConnectError, ConnectTimeout, Unauthorized) as error:
            # What was named is no server that can be checked: wrong input, not a finding.
            raise ConfigurationError(error.message) from error
    return Checked(report)


def checked_image(image: str, wanted: Wanted, engine: str | None) -> Checked:
    """Checks an image, in a container.

    Raises:
        OpenEnvGymError: It cannot be run.
    """
    from openenv_gym_cli.containers import container_request

    request = container_request(None, image, options=(), settings=(), port=None, engine=engine, token=None)
    with _running(_docker(), request, f"starting {image}") as server:
        return Checked(replace(_checked(server, wanted, Declaration()).report, target=image))


def checked_project(path: str, wanted: Wanted, *, trust: bool, static: bool, build: Mapping[str, Any]) -> Checked:
    """Checks a project: its folder, and unless that is all that was asked for, its server.

    Args:
        path: The folder.
        wanted: What is asked for.
        trust: Whether its code may run in a process of this machine.
        static: Whether the folder is all.
        build: Options of ``build_with_progress``, and the engine.

    Raises:
        ConfigurationError: There is no project there.
    """
    folder = project_folder(path)
    report = validate_project(folder, checks=wanted.checks, strict=wanted.strict)
    report = replace(report, findings=tuple(_with_line(each, folder) for each in report.findings))
    if static or not wanted.has_dynamic or any(each.check in _MANIFEST_CHECKS for each in report.failed):
        return Checked(report)
    declared = ProjectFolder(folder).declared
    try:
        with _served(folder, trust=trust, build=build) as server:
            return Checked(report.joined(_checked(server, wanted, declared).report))
    except _NotRun as reason:
        return Checked(report, f"Its server was not checked: {reason} {_HOW_TO_RUN}")


class _NotRun(Exception):
    """Why a project's server was not started."""


@contextmanager
def _served(folder: Path, *, trust: bool, build: Mapping[str, Any]) -> Iterator[ServerHandle]:
    project = read_project(folder)
    if trust:
        from openenv_gym.providers.process import ProcessProvider

        request = server_request(path=folder, image=None, provider="process", settings=None)
        with _running(ProcessProvider(), request, f"starting {project.name}") as server:
            yield server
        return
    from openenv_gym_cli.containers import container_request
    from openenv_gym_cli.images import build_with_progress

    engine = build["engine"]
    _require_engine(engine)
    build_with_progress(project, **build)
    request = container_request(project, "", options=(), settings=(), port=None, engine=engine, token=None)
    with _running(_docker(), request, f"starting {project.name}") as server:
        yield server


def _require_engine(engine: str | None) -> None:
    from openenv_gym.providers.docker.inventory import engine_facts

    try:
        engine_facts(engine)
    except ProviderError as error:
        raise _NotRun(f"without a container engine its code is not run. {error.message}") from error


@contextmanager
def _running(provider: Provider, request: ServerRequest, title: str) -> Iterator[ServerHandle]:
    with ending_by_signal():
        with output.progress(title):
            server = provider.start(request, Deadline(Timeouts().start))
        try:
            yield server
        finally:
            server.stop()


def _docker() -> Provider:
    from openenv_gym.providers.docker import DockerProvider

    return DockerProvider()


def _checked(server: ServerHandle, wanted: Wanted, declared: Declaration) -> Checked:
    return checked_server(server.base_url, server.token, wanted, declared)


def _telling(shown: output.Progress) -> Callable[[Check], None]:
    names = [each.name for each in CHECKS if not each.is_static]

    def tell(check: Check) -> None:
        shown.to(names.index(check.name), len(names), check.name)

    return tell


def _with_line(finding: Any, folder: Path) -> Any:
    """A finding about a line of the manifest, with that line."""
    return replace(finding, message=finding.message + shown_line(finding.message, folder / MANIFEST_NAME))


def _read_actions(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--actions: {path} cannot be read: {error}") from error
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        raise ConfigurationError(f"--actions: {path} must hold a JSON list of objects, each an action's fields.")
    return found
