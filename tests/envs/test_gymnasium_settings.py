"""The settings of a server of the gymnasium project."""

from __future__ import annotations

import pytest
from gymnasium_env.settings import DEFAULT_ID, Settings
from openenv_gym_protocol.errors import ConfigurationError


def test_nothing_said_serves_the_default() -> None:
    assert Settings.from_environ({}) == Settings() == Settings(env_id=DEFAULT_ID)
    empty = dict.fromkeys(("GYMNASIUM_ENV_ID", "GYMNASIUM_ENV_KWARGS", "GYMNASIUM_ENV_MODULES"), "")
    assert Settings.from_environ(empty) == Settings()


def test_everything_said_is_read() -> None:
    environ = {
        "GYMNASIUM_ENV_ID": "ALE/Pong-v5",
        "GYMNASIUM_ENV_KWARGS": '{"frameskip": 4}',
        "GYMNASIUM_ENV_MODULES": "mine.envs, other",
        "GYMNASIUM_ENV_OPTIONS": "full_action_space",
        "GYMNASIUM_ENV_TIME_LIMIT": "1",
    }
    assert Settings.from_environ(environ) == Settings(
        env_id="ALE/Pong-v5",
        env_kwargs={"frameskip": 4},
        modules=("ale_py", "mine.envs", "other"),
        options=("full_action_space",),
        own_time_limit=True,
    )


def test_no_options_at_all_can_be_allowed() -> None:
    assert Settings.from_environ({"GYMNASIUM_ENV_OPTIONS": ""}).options == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GYMNASIUM_ENV_ID", "os:system"),
        ("GYMNASIUM_ENV_ID", "mine:CartPole-v1"),
        ("GYMNASIUM_ENV_ID", "a/b/c-v0"),
        ("GYMNASIUM_ENV_ID", "../x-v0"),
        ("GYMNASIUM_ENV_KWARGS", "{"),
        ("GYMNASIUM_ENV_KWARGS", "[1]"),
        ("GYMNASIUM_ENV_KWARGS", '{"render_mode": "human"}'),
        ("GYMNASIUM_ENV_MODULES", "mine;os"),
        ("GYMNASIUM_ENV_MODULES", ".mine"),
        ("GYMNASIUM_ENV_TIME_LIMIT", "yes"),
    ],
)
def test_what_cannot_be_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_environ({name: value})
