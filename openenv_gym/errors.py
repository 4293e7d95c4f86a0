"""Every exception of the project: the tree of ``openenv_gym_protocol.errors``, and what environments add."""

from __future__ import annotations

import multiprocessing

from gymnasium.error import ClosedEnvironmentError
from openenv_gym_protocol.errors import *  # noqa: F403  (this is the whole tree, for users)
from openenv_gym_protocol.errors import ClientClosed, ReplyTimeout, ValidationFailure
from openenv_gym_protocol.tool_errors import *  # noqa: F403


class WaitTimeout(ReplyTimeout, multiprocessing.TimeoutError):
    """A call is not done within the time that its caller wanted to wait; it stays pending.

    It is the multiprocessing.TimeoutError too that Gymnasium's own vector environments raise.
    """


class VectorClosed(ClientClosed, ClosedEnvironmentError):
    """The vector environment was closed; it is the ClosedEnvironmentError of Gymnasium's own too."""


class ConcurrentCall(ValidationFailure, RuntimeError):
    """An environment was called while another call of it was under way; that one goes on."""
