"""Exceptions as the vector wire carries them, and back: the class by its name, with the data that belongs to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from openenv_gym_protocol import errors
from openenv_gym_protocol.codec import with_faults
from openenv_gym_protocol.errors import FailureClass, OpenEnvGymError
from openenv_gym_protocol.vector.frames import Failure


def failure_of(error: OpenEnvGymError, lane: int | None = None, *, lost: bool = False) -> Failure:
    """The form in which an exception travels.

    Args:
        error: What happened. Of a class that ``openenv_gym_protocol.errors`` does not have, the nearest base is named.
        lane: The lane's number on the wire; None where the request failed as a whole.
        lost: Whether the lane is gone.
    """
    kind = next(base for base in type(error).__mro__ if _KINDS.get(base.__name__) is base)
    details = {name: getattr(error, name) for name in _DATA.get(kind, {}) if getattr(error, name) is not None}
    return Failure(
        failure=str(error.failure), kind=kind.__name__, message=error.message, lane=lane, lost=lost, details=details
    )


def error_of(failure: Failure) -> OpenEnvGymError:
    """The exception that a failure stands for.

    Of a kind that this end does not know, the failure class's own exception is made; of a failure class that it does
    not know, a ``ProtocolFailure``. Details that are not what the class expects are left out. ``lane`` is not set:
    the number on the wire is not the caller's.
    """
    kind = _KINDS.get(failure.kind)
    if kind is None or kind is OpenEnvGymError:
        base = _BY_FAILURE_CLASS.get(failure.failure, errors.ProtocolFailure)
        return base(f"{failure.message} (of the unknown kind {failure.kind[:100]!r})")
    read = _DATA.get(kind, {})
    data = {name: read[name](value) for name, value in failure.details.items() if name in read}
    # As the standard wire's errors: what was wrong is told, and not kept in the data alone.
    return kind(with_faults(failure.message, data.get("errors", [])), **data)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < math.inf else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _faults(value: Any) -> list[dict[str, Any]]:
    return [fault for fault in value if isinstance(fault, dict)] if isinstance(value, list) else []


def _kinds() -> dict[str, type[OpenEnvGymError]]:
    found = (value for value in vars(errors).values() if isinstance(value, type))
    return {value.__name__: value for value in found if issubclass(value, OpenEnvGymError)}


_KINDS = _kinds()

_BY_FAILURE_CLASS: dict[str, type[OpenEnvGymError]] = {
    FailureClass.ENVIRONMENT: errors.EnvironmentFailure,
    FailureClass.INFRASTRUCTURE: errors.InfrastructureFailure,
    FailureClass.TIMEOUT: errors.TimeoutFailure,
    FailureClass.CAPACITY: errors.CapacityFailure,
    FailureClass.PROTOCOL: errors.ProtocolFailure,
    FailureClass.VALIDATION: errors.ValidationFailure,
}

_DATA: dict[type[OpenEnvGymError], dict[str, Callable[[Any], Any]]] = {
    errors.FactoryError: {"factory_name": _name},
    errors.ConnectionLost: {"close_code": _count},
    errors.ServerStartError: {"logs": _text, "exit_code": _count},
    errors.ImageBuildError: {"step": _count, "command": _text, "exit_code": _count, "logs": _text},
    errors.CapacityReached: {"active_sessions": _count, "max_sessions": _count},
    errors.RateLimited: {"retry_after": _seconds},
    errors.InvalidMessage: {"errors": _faults},
}
"""The data of each class, with what reads it: a stranger may have sent anything."""
