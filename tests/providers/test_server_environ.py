from __future__ import annotations

import pytest

from openenv_gym.providers.server_environ import server_environ


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "OPENAI_API_KEY", "CLIENT_SECRET", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "TOKEN", "hf_token"]
)
def test_a_secret_is_left_out_unless_the_settings_name_it(name: str) -> None:
    assert name not in server_environ({name: "x"}, {}, None, same_interpreter=True)
    assert server_environ({name: "x"}, {name: "y"}, None, same_interpreter=True)[name] == "y"


@pytest.mark.parametrize("name", ["PATH", "TOKENIZERS_PARALLELISM", "KEYBOARD", "SECRETARY", "CUDA_VISIBLE_DEVICES"])
def test_what_is_no_secret_is_inherited(name: str) -> None:
    assert server_environ({name: "x"}, {}, None, same_interpreter=True)[name] == "x"


def test_the_pool_and_the_trainers_own_token_are_not_the_servers() -> None:
    inherited = {"OPENENV_GYM_POOL": "/tmp/pool", "OPENENV_GYM_TOKEN": "the trainer's"}
    environ = server_environ(inherited, {}, "the server's", same_interpreter=True)
    assert "OPENENV_GYM_POOL" not in environ
    assert environ["OPENENV_GYM_TOKEN"] == "the server's"
    assert "OPENENV_GYM_TOKEN" not in server_environ(inherited, {"OPENENV_GYM_TOKEN": ""}, None, same_interpreter=True)


def test_another_interpreter_gets_no_paths_of_this_one() -> None:
    inherited = {"PYTHONPATH": "/here", "PYTHONHOME": "/home", "PYTHONHASHSEED": "0"}
    assert server_environ(inherited, {}, None, same_interpreter=True)["PYTHONPATH"] == "/here"
    environ = server_environ(inherited, {}, None, same_interpreter=False)
    assert not environ.keys() & {"PYTHONPATH", "PYTHONHOME"}
    assert environ["PYTHONHASHSEED"] == "0"
