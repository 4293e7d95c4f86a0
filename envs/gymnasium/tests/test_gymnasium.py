"""The environment by itself, without a server."""

from gymnasium_env.models import GymnasiumObservation
from gymnasium_env.serving import served
from gymnasium_env.settings import Settings


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    what = served(Settings(env_id="CartPole-v1"))

    def play() -> list[GymnasiumObservation]:
        environment = what.environment_class()
        seen = [environment.reset(seed=7)]
        while not seen[-1].done:
            seen.append(environment.step(what.action_class(action=len(seen) % 2)))
        return seen

    assert [seen.model_dump_json() for seen in play()] == [seen.model_dump_json() for seen in play()]


def test_another_id_has_another_space() -> None:
    what = served(Settings(env_id="FrozenLake-v1", env_kwargs={"map_name": "8x8"}))
    assert what.environment_class.spaces is not None
    assert what.environment_class.spaces["observation"]["n"] == 64


def test_what_is_wrapped_has_the_wrappers_spaces() -> None:
    stack = {"GYMNASIUM_ENV_WRAPPERS": '[{"name": "FrameStackObservation", "stack_size": 4}, "FlattenObservation"]'}
    what = served(Settings.from_environ(stack))
    assert what.environment_class.spaces is not None
    assert what.environment_class.spaces["observation"]["shape"] == [16]
    assert what.environment_class().reset(seed=1).observation.shape == (16,)
