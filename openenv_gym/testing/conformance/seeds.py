"""Checks of seeds, and that sessions leave each other alone."""

from __future__ import annotations

from typing import Any

from openenv_gym.testing.conformance.capacity import second_session
from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.playing import trajectory
from openenv_gym.testing.conformance.server import Server, Session

_SEED, _OTHER_SEED = 1, 2


@check("seeds")
def same_seed_same_trajectory(server: Server) -> None:
    """The same seed and actions give the same observations, rewards and ends."""
    seeding = server.schemas.seeding
    declared = None if seeding is None else seeding.seed_supported
    if declared is False:
        raise NotApplicable("the server says that it takes no seeds")
    place = _first_difference(server)
    if place is not None:
        raise Problem(
            f"With the same seed and actions, what {place} returned differs.",
            "Draw every random number from a generator that reset(seed=) seeds, or declare that seeds are not taken.",
            is_advice=declared is None,
        )


@check("seeds")
def sessions_independent(server: Server) -> None:
    """What one session does changes nothing in another."""
    is_repeatable = _first_difference(server) is None
    with server.session() as first, second_session(server) as second:
        alone = trajectory(first, server.actions, _SEED)
        beside = _interleaved(first, second, server)
        if is_repeatable:
            require(alone == beside, "A trajectory differs when another session is played beside it.", _REMEDY)
        _require_kept_state(first, second, server)


_REMEDY = "Keep what an episode needs in the environment's instance, not in its class or module."


def _first_difference(server: Server) -> str | None:
    """Where two trajectories of one seed first differ; they are played in two sessions, one after the other."""
    found: list[list[Any]] = []
    for _ in range(2):
        with server.session() as session:
            found.append(trajectory(session, server.actions, _SEED))
    one, other = found
    if one[0] != other[0]:
        return "the reset"
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return f"step {number}"
    return None if len(one) == len(other) else f"step {min(len(one), len(other))}"


def _interleaved(first: Session, second: Session, server: Server) -> list[Any]:
    """The trajectory of the first session, with a step of the second one before each of its own."""

    def actions() -> Any:
        for action in server.actions:
            data = second.step(action)
            if data is not None and data["done"]:
                second.reset()
            yield action

    second.reset(seed=_OTHER_SEED)
    return trajectory(first, actions(), _SEED)


def _require_kept_state(first: Session, second: Session, server: Server) -> None:
    first.reset(episode_id="first")
    before = _counted(first)
    second.reset(episode_id="second")
    for action in server.actions[:3]:
        second.step(action)
    after = _counted(first)
    require(before == after, f"The state of a session was changed by another: {before} became {after}.", _REMEDY)


def _counted(session: Session) -> tuple[Any, Any]:
    data = session.ask({"type": "state"}).get("data", {})
    return data.get("episode_id"), data.get("step_count")
