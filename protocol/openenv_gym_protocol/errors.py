"""Every exception of the project, in one tree.

::

    OpenEnvGymError
    ├── EnvironmentFailure            failure class "environment": the environment's own code failed
    │   ├── ExecutionError              an exception in reset, step or state, or a result that cannot be sent
    │   └── FactoryError                the environment could not be constructed
    ├── InfrastructureFailure         "infrastructure": a process, a socket or an engine failed
    │   ├── ConnectError                no connection could be opened
    │   ├── ConnectionLost              an open connection broke
    │   ├── SessionLost                 the session is gone; only reset() brings a new one
    │   ├── SessionError                the server ended or refused the session
    │   ├── ServerStartError            a server did not become ready
    │   ├── ProviderError               a provider cannot work here at all
    │   │   └── ImageBuildError           a step of an image's build failed
    │   └── ClientClosed                the client was closed by its owner
    ├── TimeoutFailure                "timeout": a deadline passed
    │   ├── ConnectTimeout
    │   ├── ReplyTimeout                no reply in time; the connection is poisoned
    │   └── StepTimeout                 the server cancelled a reset or step at its own deadline
    ├── CapacityFailure               "capacity": the other side is full
    │   ├── CapacityReached
    │   └── RateLimited                 it was asked too often
    ├── ProtocolFailure               "protocol": an end does not speak the wire as agreed
    │   ├── InvalidJson
    │   ├── UnknownMessageType
    │   ├── UnexpectedReply
    │   ├── FrameTooLarge
    │   └── SchemaMismatch              the server's spaces are not the declared ones
    └── ValidationFailure             "validation": the caller's input is wrong; nothing was done with it
        ├── InvalidMessage              refused by the server's models
        ├── InvalidAction
        ├── InvalidObservation          a value outside the declared space
        ├── EpisodeOver                 a step after the end of an episode, with autoreset disabled
        ├── UnknownOption
        ├── NotOffered                  the environment does not have what was asked for
        ├── UnsupportedSchema           a JSON Schema no space can be derived from
        ├── Unauthorized
        ├── SpaceNotFound               the Hub has no such Space, or shows it to others only
        ├── NotPicklable                a connected environment or client
        └── ConfigurationError

Three leaves live in ``openenv_gym.errors``, which has all of these too: ``WaitTimeout`` below ReplyTimeout and
``VectorClosed`` below ClientClosed, because they are multiprocessing's and Gymnasium's exceptions too, and
``ConcurrentCall`` below ValidationFailure.

Each is built from one string, so that Gymnasium's AsyncVectorEnv can raise it again from its class and text,
and pickles with its data.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, ClassVar

HOW_TO_READ_THE_LOG = (
    "env.unwrapped.logs() shows the log of a server that was started for the environment; any other server's log is "
    "where it runs."
)
"""What errors say whose cause stands in the server's log only."""


class FailureClass(StrEnum):
    """What kind of thing failed: trainers decide by it what to count as a reward and what to retry."""

    ENVIRONMENT = "environment"
    INFRASTRUCTURE = "infrastructure"
    TIMEOUT = "timeout"
    CAPACITY = "capacity"
    PROTOCOL = "protocol"
    VALIDATION = "validation"


class ErrorCode(StrEnum):
    """The codes of the standard wire's error frames."""

    INVALID_JSON = "INVALID_JSON"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    CAPACITY_REACHED = "CAPACITY_REACHED"
    FACTORY_ERROR = "FACTORY_ERROR"
    SESSION_ERROR = "SESSION_ERROR"


class OpenEnvGymError(Exception):
    """Base of every exception that this project raises on purpose.

    Attributes:
        failure: The failure class.
        code: The standard wire's code, where the exception has one.
        message: What happened and what to do about it.
        lane: The sub-environment of a vector environment that it happened to, counted from 0.
        server: The address of the server that it happened at.
        session: The client's name for the session that it happened to.
    """

    failure: ClassVar[FailureClass]
    code: ClassVar[ErrorCode | None] = None
    lane: int | None = None
    server: str | None = None
    session: str | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """The text the exception was built from."""
        return str(self.args[0])


class EnvironmentFailure(OpenEnvGymError):
    """The environment's own code failed."""

    failure = FailureClass.ENVIRONMENT


class ExecutionError(EnvironmentFailure):
    """The environment raised in reset, step or state, or returned what cannot be sent."""

    code = ErrorCode.EXECUTION_ERROR


class FactoryError(EnvironmentFailure):
    """The environment could not be constructed."""

    code = ErrorCode.FACTORY_ERROR

    def __init__(self, message: str, *, factory_name: str | None = None) -> None:
        super().__init__(message)
        self.factory_name = factory_name


class InfrastructureFailure(OpenEnvGymError):
    """A process, a socket or an engine failed; the environment's rules are not to blame."""

    failure = FailureClass.INFRASTRUCTURE


class ConnectError(InfrastructureFailure):
    """No connection to the server could be opened."""


class ConnectionLost(InfrastructureFailure):
    """An open connection broke.

    Attributes:
        close_code: The WebSocket close code received, or None when the connection broke without one.
    """

    def __init__(self, message: str, *, close_code: int | None = None) -> None:
        super().__init__(message)
        self.close_code = close_code


class SessionLost(InfrastructureFailure):
    """The session this call meant is gone. Only ``reset()`` starts another one."""


class SessionError(InfrastructureFailure):
    """The server refused or ended the session."""

    code = ErrorCode.SESSION_ERROR


class ServerStartError(InfrastructureFailure):
    """A server did not become ready.

    Attributes:
        logs: The last lines that the server wrote.
        exit_code: The process's or container's exit code, or None while it still ran.
    """

    def __init__(self, message: str, *, logs: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.logs = logs
        self.exit_code = exit_code


class ProviderError(InfrastructureFailure):
    """A provider cannot work here: no engine, no permission, a missing dependency."""


class ImageBuildError(ProviderError):
    """An image could not be built.

    Attributes:
        step: The step that failed, counted from 1; None when none had begun.
        command: The step's line of the Dockerfile, such as ``RUN make``; empty when none had begun.
        exit_code: How that command ended; None when the step failed without running one.
        logs: The last lines of the build's output.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int | None = None,
        command: str = "",
        exit_code: int | None = None,
        logs: str = "",
    ) -> None:
        super().__init__(message)
        self.step = step
        self.command = command
        self.exit_code = exit_code
        self.logs = logs


class ClientClosed(InfrastructureFailure):
    """The client was closed by its owner and answers no more calls."""


class TimeoutFailure(OpenEnvGymError):
    """A deadline passed."""

    failure = FailureClass.TIMEOUT


class ConnectTimeout(TimeoutFailure):
    """The server did not accept a connection in time."""


class ReplyTimeout(TimeoutFailure):
    """No reply came in time. The connection is closed, so that a late reply can reach no later call."""


class StepTimeout(TimeoutFailure):
    """The server cancelled a reset or step at its own deadline."""

    code = ErrorCode.EXECUTION_ERROR


class CapacityFailure(OpenEnvGymError):
    """The other side is full."""

    failure = FailureClass.CAPACITY


class CapacityReached(CapacityFailure):
    """The server holds as many sessions as it may.

    Attributes:
        active_sessions: Sessions the server holds.
        max_sessions: Sessions it may hold.
    """

    code = ErrorCode.CAPACITY_REACHED

    def __init__(self, message: str, *, active_sessions: int | None = None, max_sessions: int | None = None) -> None:
        super().__init__(message)
        self.active_sessions = active_sessions
        self.max_sessions = max_sessions


class RateLimited(CapacityFailure):
    """The other side was asked too often.

    Attributes:
        retry_after: Seconds until it may be asked again; None where it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProtocolFailure(OpenEnvGymError):
    """An end does not speak the wire as agreed."""

    failure = FailureClass.PROTOCOL


class InvalidJson(ProtocolFailure):
    """A frame is not JSON, or nested too deeply to read."""

    code = ErrorCode.INVALID_JSON


class UnknownMessageType(ProtocolFailure):
    """A frame's ``type`` is not one of the wire's."""

    code = ErrorCode.UNKNOWN_TYPE


class UnexpectedReply(ProtocolFailure):
    """A reply that answers no open request, or is of another kind than the request asked for."""


class FrameTooLarge(ProtocolFailure):
    """A frame is larger than the limit agreed on."""


class SchemaMismatch(ProtocolFailure):
    """The server's spaces differ from the declared ones."""


class ValidationFailure(OpenEnvGymError):
    """The caller's input is wrong; nothing was done with it."""

    failure = FailureClass.VALIDATION


class InvalidMessage(ValidationFailure):
    """A message refused by the server's models.

    Attributes:
        errors: One mapping a fault, with ``type``, ``loc``, ``msg`` and ``input``.
    """

    code = ErrorCode.VALIDATION_ERROR

    def __init__(self, message: str, *, errors: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.errors = list(errors)


class InvalidAction(ValidationFailure):
    """An action outside its space."""


class InvalidObservation(ValidationFailure):
    """An observation outside its declared space; the field is named in the message."""


class EpisodeOver(ValidationFailure, AssertionError):
    """A step where no episode runs: it ended and only the caller may reset, or none ever began.

    It is an AssertionError too, because that is what Gymnasium's own vector environments raise.
    """


class UnknownOption(ValidationFailure, TypeError):
    """An option, setting or keyword that nobody knows; the message names the nearest known one.

    It is a TypeError too, because callers of ``gymnasium.make`` probe keywords by catching that.
    """


class NotOffered(ValidationFailure, NotImplementedError):
    """The environment, or its server, does not have what was asked for.

    It is a NotImplementedError too, because that is what the environment's own method would raise.
    """


class UnsupportedSchema(ValidationFailure):
    """A JSON Schema that no space can be derived from; the message names the field."""


class Unauthorized(ValidationFailure):
    """The server refused the token, or asked for one."""


class SpaceNotFound(ValidationFailure):
    """The Hub has no such Space, or does not show it to whoever asks."""


class NotPicklable(ValidationFailure, TypeError):
    """Something that holds a session was to be pickled or copied.

    It is a TypeError too, because that is what Python raises for its own objects of that kind.
    """


class ConfigurationError(ValidationFailure, ValueError):
    """Options that contradict each other, or a value that cannot be."""


def copied(error: OpenEnvGymError) -> OpenEnvGymError:
    """An equal error with a life of its own: no traceback, which would keep its callers' frames alive."""
    own = copy.copy(error)
    own.__cause__ = error.__cause__
    return own


def nearest(name: str, known: Iterable[str]) -> str:
    """Says which known name was probably meant.

    Args:
        name: What the caller wrote.
        known: The names that exist.

    Returns:
        A sentence such as ``Did you mean 'seed'? Known: episode_id, seed.``
    """
    choices = sorted(known)
    listed = f"Known: {', '.join(choices)}." if choices else "None are known."
    close = get_close_matches(name, choices, n=1)
    return f"Did you mean {close[0]!r}? {listed}" if close else listed
