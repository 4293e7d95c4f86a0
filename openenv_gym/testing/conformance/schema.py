"""Checks of what is sent against what ``/schema`` says."""

from __future__ import annotations

from typing import Any

from openenv_gym.testing.conformance.checks import check, require
from openenv_gym.testing.conformance.matching import mismatch
from openenv_gym.testing.conformance.playing import is_tool_reset, played
from openenv_gym.testing.conformance.server import Frame, Server

_REMEDY = "Return what the model declares, or declare what is returned."


@check("schema")
def reset_schema(server: Server) -> None:
    """The observation of a reset is what ``/schema`` says of it."""
    schemas = server.schemas
    told = schemas.reset_observation or schemas.observation
    with server.session() as session:
        data = session.reset()
    if not is_tool_reset(data["observation"], told):
        _require_match(_rebuilt(data), told, "The observation of a reset")


@check("schema")
def observation_schema(server: Server) -> None:
    """The observations of steps are what ``/schema`` says of them."""
    with server.session() as session:
        for data in played(session, server.actions):
            _require_match(_rebuilt(data), server.schemas.observation, "An observation")


@check("schema")
def state_schema(server: Server) -> None:
    """The state is what ``/schema`` says of it."""
    with server.session() as session:
        session.reset()
        _require_match(session.ask({"type": "state"}).get("data"), server.schemas.state, "The state")


def _require_match(value: Any, schema: Any, what: str) -> None:
    wrong = mismatch(value, schema)
    require(wrong is None, f"{what} is not as /schema says: {wrong}.", _REMEDY)


def _rebuilt(data: Frame) -> dict[str, Any]:
    """The whole model: on the wire, reward and done stand beside its other fields."""
    reward = data["reward"]
    # What is wrong with a reward that is no number is found by the checks of rewards.
    is_number = reward is None or reward - reward == 0
    return {**data["observation"], "reward": reward if is_number else 0.0, "done": data["done"]}
