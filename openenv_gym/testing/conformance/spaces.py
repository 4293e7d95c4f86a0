"""Checks of the Gymnasium spaces."""

from __future__ import annotations

from openenv_gym_protocol.errors import InvalidObservation, UnsupportedSchema
from openenv_gym_protocol.gymnasium_spaces import data_to_space

from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.playing import is_tool_reset, played
from openenv_gym.testing.conformance.server import Server, error_code

_DECLARE = "Declare exact spaces: the class attribute `spaces` of an environment of openenv-gym's server."


@check("spaces")
def spaces_derivable(server: Server) -> str:
    """The spaces of actions and observations are stated, or follow from ``/schema``."""
    try:
        interface = server.interface
    except UnsupportedSchema as error:
        # openenv promises no spaces.
        raise Problem(error.message, _DECLARE, is_advice=True) from error
    stated = "derived" if server.schemas.spaces is None else "stated"
    return f"{stated}: {interface.action_space}, {interface.observation_space}"[:300]


@check("spaces")
def declared_spaces(server: Server) -> None:
    """The spaces of the server are those that ``openenv.yaml`` declares."""
    declared, stated = server.declared.spaces, server.schemas.spaces
    if declared is None or stated is None:
        raise NotApplicable("none are declared" if declared is None else "the server states none")
    for name, ours, theirs in (
        ("action", declared["action"], stated.action),
        ("observation", declared["observation"], stated.observation),
    ):
        expected, found = data_to_space(ours), data_to_space(theirs)
        require(found == expected, f"The {name} space is {found}, and {expected} is declared.", "Mend openenv.yaml.")


@check("spaces")
def samples_accepted(server: Server) -> str:
    """What is drawn from the action space is accepted as an action."""
    refused = 0
    with server.session() as session:
        session.reset()
        for action in server.actions:
            reply = session.ask({"type": "step", "data": action})
            code = error_code(reply)
            require(
                code != "VALIDATION_ERROR",
                f"{action!r:.200} is in the action space, and refused: {reply.get('data')!r:.200}",
                "Give the action's fields the bounds that the environment checks.",
            )
            refused += code is not None
            if code is not None or reply.get("data", {}).get("done"):
                session.reset()
    return f"the environment refused {refused} of {len(server.actions)} after they were read" if refused else ""


@check("spaces")
def observations_in_space(server: Server) -> None:
    """Observations of resets and steps are inside the observation space."""
    try:
        interface = server.interface
    except UnsupportedSchema as error:
        raise NotApplicable("no observation space can be derived") from error
    with server.session() as session:
        observations = [session.reset()["observation"]]
        observations += [data["observation"] for data in played(session, server.actions)]
    for observation in observations:
        if is_tool_reset(observation, server.schemas.observation):
            continue
        try:
            interface.decode_observation(observation)
        except InvalidObservation as error:
            raise Problem(
                error.message, "Widen the space, or mend the observation.", is_advice=server.schemas.spaces is None
            ) from error
