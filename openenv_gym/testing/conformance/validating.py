"""All checks of a server or a project, one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from openenv_gym_protocol.errors import SessionLost

from openenv_gym.client.generic_client import GenericEnvClient
from openenv_gym.testing.conformance.checks import Check, chosen
from openenv_gym.testing.conformance.declaration import Declaration
from openenv_gym.testing.conformance.findings import Finding, Report, Status
from openenv_gym.testing.conformance.folder import ProjectFolder
from openenv_gym.testing.conformance.server import Server
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.token import resolve_token

_MOST_SILENCES = 3
"""So many answers are waited for in vain."""

OnCheck = Callable[[Check], None]


def validate_server(
    base_url: str,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    declared: Declaration | None = None,
    actions: Sequence[Mapping[str, Any]] | None = None,
    checks: Collection[str] = (),
    strict: bool = False,
    on_check: OnCheck | None = None,
) -> Report:
    """Checks a server of OpenEnv environments, whoever wrote it.

    It is played with: nobody else should use it meanwhile.

    Args:
        base_url: Where it is.
        token: What it asks for, or ``env:NAME``.
        headers: Sent with every request, such as what a private Space asks for.
        timeout: Seconds that it may take for an answer.
        declared: What its project promises.
        actions: What to step with; None: what is drawn from the action space.
        checks: Only these checks or groups; empty: all.
        strict: Whether advice on security and style is a failure.
        on_check: Called before each check.

    Raises:
        ConfigurationError: There is no such check, or an argument is none.
        ConnectError, ConnectTimeout, Unauthorized: The server cannot be reached, or asks for another token.
    """
    wanted = chosen(checks, static=False)
    server = server_at(base_url, token=token, headers=headers, timeout=timeout, declared=declared, actions=actions)
    findings = _made(wanted, server, strict=strict, on_check=on_check)
    return Report(base_url, findings, dict(server.figures))


def validate_project(
    path: str | os.PathLike[str],
    *,
    checks: Collection[str] = (),
    strict: bool = False,
    on_check: OnCheck | None = None,
) -> Report:
    """Checks a project's folder: its manifest and its files. None of its code is run.

    Args:
        path: The folder.
        checks: Only these checks or groups; empty: all.
        strict: Whether advice on style is a failure.
        on_check: Called before each check.

    Raises:
        ConfigurationError: There is no such check.
    """
    folder = Path(path).expanduser().resolve()
    findings = _made(chosen(checks, static=True), ProjectFolder(folder), strict=strict, on_check=on_check)
    return Report(str(folder), findings, {})


def server_at(
    base_url: str,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    declared: Declaration | None = None,
    actions: Sequence[Mapping[str, Any]] | None = None,
) -> Server:
    """A server that answers, to be checked; arguments and errors are those of ``validate_server``."""
    token = resolve_token(token)
    # Says in a sentence why it cannot be reached; whether what it answers is right, the checks say.
    # One that answers and then gives no session is for them as well.
    with GenericEnvClient(base_url, token=token, headers=headers).sync() as client, suppress(SessionLost):
        client.connect()
    return Server(
        base_url,
        ConnectionOptions(token=token, headers=headers or {}),
        timeout=timeout,
        declared=declared or Declaration(),
        given_actions=None if actions is None else tuple(map(dict, actions)),
    )


def _made(checks: list[Check], subject: Any, *, strict: bool, on_check: OnCheck | None) -> tuple[Finding, ...]:
    findings = []
    for each in checks:
        if on_check is not None:
            on_check(each)
        if isinstance(subject, Server) and subject.silences >= _MOST_SILENCES:
            findings.append(Finding(each.name, each.group, Status.SKIPPED, "the server has stopped answering"))
            continue
        findings.append(each.made(subject, strict=strict))
    return tuple(findings)
