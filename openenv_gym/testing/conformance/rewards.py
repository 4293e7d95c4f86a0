"""Checks of rewards."""

from __future__ import annotations

import math
import re

from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.playing import played
from openenv_gym.testing.conformance.server import Server

_REFUSED_REWARD = re.compile(r"reward.*\b(nan|inf)", re.IGNORECASE)
"""A server may fail the step itself, as openenv-gym's does."""


@check("rewards")
def rewards_finite(server: Server) -> None:
    """Every reward is a finite number, or is left out."""
    remedy = "Mend the reward: what learns from it is lost."
    with server.session() as session:
        for data in played(session, server.actions):
            reward = data["reward"]
            require(reward is None or math.isfinite(reward), f"A reward is {reward}.", remedy)
        for message in session.refusals:
            require(not _REFUSED_REWARD.search(message), f"A step was failed: {message:.200}", remedy)


@check("rewards")
def rewards_in_range(server: Server) -> str:
    """Rewards are within ``validation.reward.range`` of ``openenv.yaml``."""
    if server.declared.reward_range is None:
        raise NotApplicable("no range is declared")
    least, greatest = server.declared.reward_range
    found = [reward for reward in _rewards(server) if reward is not None and math.isfinite(reward)]
    for reward in found:
        require(
            least <= reward <= greatest,
            f"A reward is {reward:g}, outside the declared {least:g} to {greatest:g}.",
            "Mend the reward, or validation.reward.range of openenv.yaml.",
        )
    return f"{min(found):g} to {max(found):g}" if found else ""


@check("style", "advisory")
def rewards_given(server: Server) -> None:
    """Steps have rewards."""
    found = _rewards(server)
    if found and all(reward is None for reward in found):
        raise Problem("No step had a reward.", "Return one; null is read as 0.")


@check("style", "advisory")
def steps_succeed(server: Server) -> None:
    """The environment fails no step that is in its action space."""
    with server.session() as session:
        count = sum(1 for _ in played(session, server.actions))
        if session.refusals:
            raise Problem(
                f"{len(session.refusals)} of {count + len(session.refusals)} steps failed: {session.refusals[0]:.200}",
                "Answer a move that is not possible by an observation that says so, or narrow the action space.",
            )


def _rewards(server: Server) -> list[float | None]:
    with server.session() as session:
        return [data["reward"] for data in played(session, server.actions)]
