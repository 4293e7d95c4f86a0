"""Errors to HTTP answers, in one table."""

from __future__ import annotations

import math

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from openenv_gym_protocol.errors import (
    CapacityReached,
    ExecutionError,
    FactoryError,
    InvalidMessage,
    OpenEnvGymError,
    SessionLost,
    StepTimeout,
    UnknownMessageType,
    ValidationFailure,
)

from openenv_gym_server.serialisation import error_to_json

_STATUS: dict[type[OpenEnvGymError], int] = {
    ExecutionError: 500,
    FactoryError: 500,
    CapacityReached: 503,
    StepTimeout: 504,
    SessionLost: 404,
    UnknownMessageType: 404,
    InvalidMessage: 422,
    ValidationFailure: 422,
}


def install_fault_handlers(app: FastAPI, *, retry_after: float) -> None:
    """Answers every error with JSON, so that the connection lives on.

    Args:
        app: The application.
        retry_after: What a full server tells clients to wait, in seconds.
    """

    async def answer(_: Request, error: Exception) -> Response:
        if not isinstance(error, OpenEnvGymError):
            raise error
        detail = error.errors if isinstance(error, InvalidMessage) and error.errors else error.message
        headers = {"Retry-After": str(math.ceil(max(retry_after, 1)))} if isinstance(error, CapacityReached) else {}
        return _json({"detail": detail}, status_of(error), headers)

    async def refuse(_: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise error
        faults = [{**fault, "ctx": _texts(fault["ctx"])} if "ctx" in fault else fault for fault in error.errors()]
        return _json({"detail": faults}, 422, {})

    app.add_exception_handler(OpenEnvGymError, answer)
    app.add_exception_handler(RequestValidationError, refuse)


def status_of(error: OpenEnvGymError) -> int:
    """The HTTP status of an error."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)


def _json(value: object, status: int, headers: dict[str, str]) -> Response:
    try:
        text = error_to_json(value)
    except ExecutionError:
        # A body that is neither JSON nor text is echoed in the faults.
        text = error_to_json({"detail": "The request cannot be read."})
    return Response(text, status_code=status, headers=headers, media_type="application/json")


def _texts(context: dict[str, object]) -> dict[str, object]:
    return {key: str(value) if isinstance(value, Exception) else value for key, value in context.items()}
