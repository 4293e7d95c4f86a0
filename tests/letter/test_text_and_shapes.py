"""The spaces that trainers and text environments get."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv
from openenv_gym_protocol import errors

from openenv_gym import UnicodeText
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import identical
from tests.letter.requirements import requirement
from tests.support.servers import RunningServer

Make = Callable[..., RemoteEnv]
MakeMany = Callable[..., RemoteVectorEnv]

TEXTS = ["", "a b\nc\t", "naïve — 日本 😀", "\x00 \x7f", "x" * 5000]


def leaves(space: spaces.Space[Any]) -> list[spaces.Space[Any]]:
    parts: Any = space.spaces if isinstance(space, spaces.Dict | spaces.Tuple | spaces.OneOf) else ()
    parts = parts.values() if isinstance(parts, dict) else parts
    return [leaf for part in parts for leaf in leaves(part)] or [space]


@requirement("S1", "S4")
@pytest.mark.parametrize("text", TEXTS, ids=["empty", "white", "unicode", "control", "long"])
def test_any_text_goes_both_ways(text: str, texts: RunningServer, make: Make) -> None:
    env = make(texts.base_url)
    assert type(env.action_space) is UnicodeText
    assert isinstance(env.observation_space, spaces.Dict)
    assert set(env.observation_space.spaces) == {"text", "words"}
    assert not [leaf for leaf in leaves(env.observation_space) if type(leaf) is spaces.Text]
    env.reset()
    observation, *_ = env.step(text)
    assert observation["text"] == f"1: {text}"
    assert observation in env.observation_space


@requirement("S1")
def test_texts_are_batched_as_tuples_and_one_text_is_no_batch(texts: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(texts.base_url, num_envs=2)
    envs.reset()
    observation, *_ = envs.step(("ab", "ç"))
    assert observation["text"] == ("1: ab", "1: ç")
    assert observation in envs.observation_space
    with pytest.raises(TypeError):
        envs.step("ab")


@requirement("S2", "async/3")
def test_text_and_one_of_change_under_shared_memory(texts: RunningServer, wire: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        # Python 3.12 warns of forks in programs with threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        envs = AsyncVectorEnv([lambda: RemoteEnv(texts.base_url, **wire)] * 2)
    try:
        envs.reset()
        for number, words in enumerate((("ä b", "日本"), ("x", ""), ("one two three", "y")), start=1):
            observation, *_ = envs.step(words)
            assert observation["text"] == tuple(f"{number}: {word}" for word in words)
            counts = [(int(branch), int(np.asarray(value).item())) for branch, value in observation["words"]]
            assert counts == [(0, len(word.split())) for word in words]
    finally:
        envs.close()


@requirement("S3", "S4")
def test_derived_spaces_are_the_trainers_own(walk: RunningServer, make: Make) -> None:
    env = make(walk.base_url)
    assert env.action_space == spaces.Discrete(2)
    assert isinstance(env.observation_space, spaces.Dict)
    assert set(env.observation_space.spaces) == {"position", "wind"}
    for leaf in leaves(env.observation_space):
        assert isinstance(leaf, spaces.Discrete | spaces.Box)
        if isinstance(leaf, spaces.Discrete):
            assert leaf.start == 0
        else:
            assert leaf.dtype == np.float32
            assert leaf.shape
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert observation["wind"].dtype == np.float32
    assert "done" not in info


@requirement("S3")
def test_a_scalar_and_an_offset_are_shifted_in_the_flat_view(drawn: RunningServer, make: Make) -> None:
    scalar, shifted = (make(f"{drawn.base_url}/{space}", spaces="flat") for space in ("box-scalar", "discrete-start"))
    assert scalar.observation_space.shape == (1,)
    assert shifted.action_space == spaces.Discrete(5)
    exact = make(f"{drawn.base_url}/discrete-start")
    assert exact.action_space == spaces.Discrete(5, start=-2)
    assert shifted.reset(seed=1)[0] == exact.reset(seed=1)[0] + 2
    assert shifted.step(0)[1] == exact.step(-2)[1]
    for env in (scalar, shifted):
        assert env.reset(seed=1)[0] in env.observation_space


@requirement("S3")
@pytest.mark.parametrize(
    ("space", "action"),
    [("discrete", 5), ("discrete-start", 3), ("multi-discrete", [0, 0, 4]), ("multi-binary", [2, 0, 0, 0, 0, 0])],
)
def test_an_action_outside_its_space_is_refused_and_nothing_is_sent(
    space: str, action: Any, drawn: RunningServer, make: Make
) -> None:
    env, other = (make(f"{drawn.base_url}/{space}") for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=1)
    for wrong in (action, None, "no action"):
        with pytest.raises(errors.InvalidAction):
            env.step(wrong)
    env.action_space.seed(1)
    fine = env.action_space.sample()
    assert identical(env.step(fine), other.step(fine))
