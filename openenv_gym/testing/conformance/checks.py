"""What a check is, the one list of them, and how one is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from openenv_gym_protocol.errors import ConfigurationError, OpenEnvGymError, nearest

from openenv_gym.testing.conformance.findings import Finding, Status

Group: TypeAlias = Literal[
    "manifest",
    "files",
    "wire",
    "schema",
    "spaces",
    "seeds",
    "rewards",
    "capacity",
    "mcp",
    "latency",
    "security",
    "style",
]
Severity: TypeAlias = Literal["required", "advisory"]
Body: TypeAlias = Callable[[Any], str | None]


class Problem(Exception):
    """What a check found wrong.

    Args:
        message: What is wrong, with what was seen.
        remedy: What to do about it.
        is_advice: Whether it is no fault, whatever the check's severity: nobody promised otherwise.
    """

    def __init__(self, message: str, remedy: str = "", *, is_advice: bool = False) -> None:
        super().__init__(message)
        self.message, self.remedy, self.is_advice = message, remedy, is_advice


class NotApplicable(Exception):
    """There is nothing to check here; the text says why."""


@dataclass(frozen=True)
class Check:
    """One thing that is looked at.

    Attributes:
        name: What it is called; unique.
        group: What it is about.
        severity: Whether a problem is a failure, or advice.
        told: What it asks for, a sentence.
        body: The check itself. It returns what is worth saying when it passes, and raises ``Problem`` or
            ``NotApplicable``.
        is_static: Whether it is about a project's folder; else it is about a server.
    """

    name: str
    group: Group
    severity: Severity
    told: str
    body: Body
    is_static: bool

    def made(self, subject: Any, *, strict: bool = False) -> Finding:
        """Makes the check.

        Args:
            subject: A ``Server`` or a ``ProjectFolder``, as ``is_static`` says.
            strict: Whether an advisory check's problem is a failure too.
        """
        try:
            return self._finding(Status.PASSED, self.body(subject) or "")
        except NotApplicable as reason:
            return self._finding(Status.SKIPPED, str(reason))
        except Problem as problem:
            is_fault = not problem.is_advice and (strict or self.severity == "required")
            status = Status.FAILED if is_fault else Status.ADVICE
            return self._finding(status, problem.message, problem.remedy)
        except OpenEnvGymError as error:
            return self._finding(Status.FAILED, f"{type(error).__name__}: {error.message}")
        except Exception as error:
            # Whatever it is, it comes of what the subject has sent or holds: the other checks are still to be made.
            return self._finding(Status.FAILED, f"What it says cannot be read: {type(error).__name__}: {error}")

    def _finding(self, status: Status, message: str, remedy: str = "") -> Finding:
        return Finding(self.name, self.group, status, message, remedy)


CHECKS: list[Check] = []
"""All checks, in the order in which they are made; the modules of this package fill it."""


def check(group: Group, severity: Severity = "required", *, static: bool = False) -> Callable[[Body], Body]:
    """Registers a function as a check: its name with dashes, its docstring's first line as what it asks for."""

    def register(body: Body) -> Body:
        told = (inspect.getdoc(body) or "").partition("\n")[0]
        CHECKS.append(Check(body.__name__.replace("_", "-"), group, severity, told, body, static))
        return body

    return register


def chosen(names: Collection[str], *, static: bool) -> list[Check]:
    """The checks of a project's folder, or those of a server.

    Args:
        names: Only these checks or groups; empty: all.
        static: Which of the two.

    Raises:
        ConfigurationError: There is no such check or group; the nearest is named.
    """
    known = {each.name for each in CHECKS} | {each.group for each in CHECKS}
    for name in names:
        if name not in known:
            raise ConfigurationError(f"There is no check {name!r}. {nearest(name, known)}")
    return [
        each for each in CHECKS if each.is_static == static and (not names or each.name in names or each.group in names)
    ]


def require(condition: object, message: str, remedy: str = "") -> None:
    """Raises ``Problem`` unless a condition holds."""
    if not condition:
        raise Problem(message, remedy)


def require_object(value: Any, message: str) -> dict[str, Any]:
    """The value, which must be a JSON object.

    Raises:
        Problem: It is none.
    """
    if not isinstance(value, dict):
        raise Problem(message)
    return value
