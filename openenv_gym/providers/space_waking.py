"""Waking a Space that sleeps, and waiting until its environment answers."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable

from openenv_gym_protocol import errors

from openenv_gym.providers.base import SpaceAddress
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.space_status import Runtime, SpaceStatus
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.http import ask_route
from openenv_gym.transports.io_thread import io_thread

_logger = logging.getLogger("openenv_gym")

FAILED_STAGES = {
    "BUILD_ERROR": "could not be built",
    "RUNTIME_ERROR": "ended with an error",
    "CONFIG_ERROR": "has a wrong configuration",
    "NO_APP_FILE": "has no application",
    "PAUSED": "was paused by its owner, and only they can start it again",
    "STOPPED": "was stopped, and only its owner can start it again",
    "DELETING": "is being deleted",
}
"""Stages of which no waiting helps."""

_RUNNING = ("RUNNING", "RUNNING_BUILDING", "RUNNING_APP_STARTING")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 3.0
_REQUEST_SECONDS = 10.0
_EXIT_CODE = re.compile(r"exit code:?\s*(\d+)", re.IGNORECASE)


def wait_for_space(address: SpaceAddress, status: SpaceStatus, deadline: Deadline, tell: Callable[[str], None]) -> None:
    """Returns when the Space's environment answers ``/health``. Asking wakes it when it sleeps.

    Args:
        address: The Space.
        status: What the Hub says of it, begun.
        deadline: Until when it must answer.
        tell: Told each new stage.

    Raises:
        ServerStartError: It failed, is paused, or did not answer in time; with the address of its log.
        ProviderError: What runs there is no environment.
        Unauthorized: It refuses the token.
        ConnectError: This machine has no network.
    """
    stage, pause = None, _FIRST_PAUSE
    runtime = status.runtime
    while True:
        if runtime.stage != stage and runtime.stage is not None:
            stage = runtime.stage
            tell(stage)
        _check_stage(address, runtime)
        said = _health(address, status, runtime, deadline)
        if said is None:
            return
        if deadline.passed:
            raise errors.ServerStartError(
                f"The Space {address.name} did not become ready within {deadline.seconds:g} s. Its stage is "
                f"{stage or 'unknown'}, and {said}. Raise start_timeout if it needs longer; its log is at "
                f"{address.page_url}?logs=container."
            )
        time.sleep(deadline.remaining(at_most=pause))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        runtime = status.look()


def _check_stage(address: SpaceAddress, runtime: Runtime) -> None:
    if runtime.stage not in FAILED_STAGES:
        return
    log = "build" if runtime.stage == "BUILD_ERROR" else "container"
    code = _EXIT_CODE.search(runtime.problem)
    raise errors.ServerStartError(
        f"The Space {address.name} {FAILED_STAGES[runtime.stage]} ({runtime.stage}). Its log is at "
        f"{address.page_url}?logs={log}.{f' It ends:{chr(10)}{runtime.problem}' if runtime.problem else ''}",
        logs=runtime.problem,
        exit_code=int(code[1]) if code else None,
    )


def _health(address: SpaceAddress, status: SpaceStatus, runtime: Runtime, deadline: Deadline) -> str | None:
    """What is wrong with the answer to ``/health``; None when the environment answers."""
    seconds = max(deadline.remaining(at_most=_REQUEST_SECONDS), 0.1)
    options = ConnectionOptions(headers=status.headers, connect_timeout=seconds)
    try:
        code, _ = io_thread().run(ask_route(status.base_url, "/health", options))
    except errors.Unauthorized as error:
        raise errors.Unauthorized(
            f"The Space {address.name} refused this client. A private Space needs a token of the Hub that may read it: "
            "set HF_TOKEN, or log in with `hf auth login`."
        ) from error
    except errors.ConnectError as error:
        if isinstance(error.__cause__, socket.gaierror) and not status.is_told:
            raise errors.ConnectError(
                f"Neither the Hub nor the Space {address.name} can be reached: is this machine on the network?"
            ) from error
        return error.message.rstrip(".")
    except errors.OpenEnvGymError as error:
        # A page where JSON belongs, or no answer in time: the way a Space wakes.
        _logger.debug("%s is not there yet: %s", address.name, error)
        return error.message.rstrip(".")
    if code == 200:
        return None
    if code == 404 and runtime.stage in _RUNNING:
        raise errors.ProviderError(
            f"The Space {address.name} runs, but has no /health: it serves no OpenEnv environment. Its page is "
            f"{address.page_url}."
        )
    return f"{status.base_url}/health answered HTTP {code}"
