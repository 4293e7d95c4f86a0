"""What clients are told when an environment fails, and what is logged about it."""

from __future__ import annotations

import logging
import traceback
import uuid

from openenv_gym_protocol.errors import EnvironmentFailure, ExecutionError

from openenv_gym_server.config import ServerConfig, ServerMode

logger = logging.getLogger(__name__)


class FailureReporter:
    """Logs failures of environments and words them for the wire.

    In simulation mode a client gets the exception's text, in production mode a generic one; both carry the id
    under which the traceback stands in the log. Tracebacks travel in debug mode only.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config

    def report(self, error: BaseException, *, operation: str, session_id: str) -> ExecutionError:
        """Logs an exception of an environment and returns what to tell the client."""
        error_id = uuid.uuid4().hex[:12]
        logger.error(
            "The environment failed in %s (session %s, error %s): %s",
            operation,
            session_id,
            error_id,
            type(error).__name__,
            exc_info=error,
            extra={"session_id": session_id, "error_id": error_id, "operation": operation},
        )
        return ExecutionError(f"{self._text(error, operation)} [error {error_id}]")

    def _text(self, error: BaseException, operation: str) -> str:
        if self._config.debug:
            return "".join(traceback.format_exception(error))
        if self._config.mode is ServerMode.PRODUCTION:
            return f"The environment failed in {operation}."
        if isinstance(error, EnvironmentFailure):
            return error.message
        # An assert without a text, or sys.exit(3), says nothing without the name of its class.
        text = _own_text(error)
        return text if text and isinstance(error, Exception) else f"{type(error).__name__}: {text}".rstrip(": ")


def _own_text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as fault:
        # The environment's code as well: a report that failed would leave the client without an answer.
        return f"{type(error).__name__}, whose text cannot be had ({type(fault).__name__})"
