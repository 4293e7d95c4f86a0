"""The environment by itself, without a server."""

from echo_env.environment import EchoEnvironment
from echo_env.models import CallToolAction, ListToolsAction


def test_both_tools_repeat_the_message() -> None:
    environment = EchoEnvironment()
    environment.reset()
    plain = environment.step(CallToolAction(tool_name="echo_message", arguments={"message": "hi"}))
    counted = environment.step(CallToolAction(tool_name="echo_with_length", arguments={"message": "hi"}))
    assert plain.result["data"] == "hi"
    assert counted.result["data"] == {"message": "hi", "length": 2}


def test_every_action_counts_as_a_step() -> None:
    environment = EchoEnvironment()
    environment.reset(episode_id="mine")
    environment.step(ListToolsAction())
    environment.step(CallToolAction(tool_name="unknown"))
    assert (environment.state.episode_id, environment.state.step_count) == ("mine", 2)
