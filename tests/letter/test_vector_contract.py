"""The attributes and the calls of a vector environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import NEWEST, identical, identical_steps, shares_anything
from tests.letter.requirements import requirement
from tests.support import drawn as local
from tests.support.apps.bridge_vectors import EPISODE
from tests.support.servers import RunningServer, running_server

MakeMany = Callable[..., RemoteVectorEnv]


@requirement("V1")
@pytest.mark.parametrize("mode", AutoresetMode)
def test_it_has_every_attribute_of_gymnasiums_own(
    mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/dict", num_envs=3, autoreset_mode=mode)
    assert isinstance(envs, VectorEnv)
    assert envs.num_envs == 3
    assert envs.observation_space == batch_space(envs.single_observation_space, 3)
    assert envs.action_space == batch_space(envs.single_action_space, 3)
    assert envs.autoreset_mode is envs.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in RemoteVectorEnv.metadata
    assert (envs.render_mode, envs.spec, envs.closed, envs.unwrapped) == (None, None, False, envs)
    envs.reset(seed=[4, 5, 6])
    assert envs.np_random_seed == (4, 5, 6)
    assert [type(each) for each in envs.np_random] == [np.random.Generator] * 3


@requirement("V1")
@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_mode_may_be_a_text_and_other_texts_are_refused(
    mode: AutoresetMode, make_many: MakeMany, walk: Any
) -> None:
    envs = make_many(walk.base_url, autoreset_mode=mode.value)
    assert envs.metadata["autoreset_mode"] is mode
    with pytest.raises(ValueError, match="autoreset_mode"):
        make_many(walk.base_url, autoreset_mode=f"{mode.value}?")


@requirement("V4")
@pytest.mark.parametrize("space", ["box-float32", "dict", "tuple-nested", "one-of"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_nothing_that_is_returned_is_shared_with_anything_else(
    mode: AutoresetMode, space: str, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/{space}", num_envs=2, autoreset_mode=mode)
    single, generator = envs.single_action_space, np.random.default_rng(0)
    returned: list[Any] = [envs.reset(seed=1)]
    for _ in range(6):
        returned.append(envs.step(local.batched(single, [local.draw(single, generator) for _ in range(2)])))
    for index, values in enumerate(returned):
        assert not any(shares_anything(list(values), list(other)) for other in returned[:index])


@requirement("V4")
def test_what_a_caller_writes_into_an_observation_is_not_seen_again(drawn: RunningServer, make_many: MakeMany) -> None:
    envs, other = (make_many(f"{drawn.base_url}/box-float32", num_envs=2) for _ in range(2))
    for each in (envs, other):
        first, _ = each.reset(seed=1)
        if each is envs:
            first[:] = 99
    mask = {"reset_mask": np.array([True, False])}
    assert identical(envs.reset(options=mask)[0], other.reset(options=mask)[0])


@requirement("V5")
def test_make_vec_passes_its_keywords_and_the_time_limit_is_kept(
    registry: None, drawn: RunningServer, wire: dict[str, Any]
) -> None:
    gymnasium.register(
        "letter/Drawn-v0",
        "openenv_gym.bridge.env:RemoteEnv",
        vector_entry_point="openenv_gym.bridge.vector:RemoteVectorEnv",
        max_episode_steps=2,
        kwargs={"base_url": f"{drawn.base_url}/discrete", **wire},
    )
    here = SyncVectorEnv(
        [lambda: gymnasium.wrappers.TimeLimit(local.Drawn("discrete"), 2)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    envs = gymnasium.make_vec("letter/Drawn-v0", 3, autoreset_mode="SameStep")
    assert isinstance(envs.unwrapped, RemoteVectorEnv)
    assert identical_steps(envs.reset(seed=1), here.reset(seed=1))
    for number in range(8):
        actions = np.full(3, number % 5)
        assert identical_steps(envs.step(actions), here.step(actions))
    envs.close()
    longer = gymnasium.make_vec("letter/Drawn-v0", 2, max_episode_steps=100, autoreset_mode=AutoresetMode.DISABLED)
    longer.reset(seed=4)  # both lanes have episodes of more than two steps
    assert not any(longer.step(np.array([0, 0]))[3].any() for _ in range(2))
    longer.close()
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'frameskip'"):
        gymnasium.make_vec("letter/Drawn-v0", 2, frameskip=1)
    for mode in ("sync", "async"):
        plain = gymnasium.make_vec("letter/Drawn-v0", 2, vectorization_mode=mode)
        assert plain.reset(seed=1)[0] in plain.observation_space
        plain.close()


@requirement("vector/actions")
@pytest.mark.parametrize("space", ["discrete", "box-float32", "dict", "text"])
def test_a_wrong_number_of_actions_is_refused_as_gymnasium_refuses_it(
    space: str, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/{space}", num_envs=2)
    here = SyncVectorEnv([lambda: local.Drawn(space)] * 2)
    single, generator = envs.single_action_space, np.random.default_rng(0)
    for each in (envs, here):
        each.reset(seed=1)
    for count in (1, 3):
        actions = local.batched(single, [local.draw(single, generator) for _ in range(count)])
        for each in (envs, here) if NEWEST else (envs,):
            with pytest.raises(ValueError):  # noqa: PT011  (the type is what is asked for)
                each.step(actions)
    if space == "discrete":
        for each in (envs, here):
            with pytest.raises(TypeError):
                each.step(1)
    here.close()


@requirement("vector/actions")
@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_actions_come_as_a_list_a_tuple_or_an_array(form: Any, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=3)
    envs.reset(seed=1)
    assert envs.step(form([0, 4, 2]))[1].tolist() == [local.number_of(number) for number in (0, 4, 2)]


@requirement("vector/actions")
def test_a_wrong_action_changes_no_lane(drawn: RunningServer, make_many: MakeMany) -> None:
    envs, other = (make_many(f"{drawn.base_url}/discrete", num_envs=3) for _ in range(2))
    envs.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(errors.InvalidAction) as raised:
        envs.step(np.array([0, 1, 5]))
    assert raised.value.lane == 2
    actions = np.array([0, 1, 4])
    assert identical(envs.step(actions), other.step(actions))


@requirement("vector/calls")
def test_calls_answer_for_each_lane_and_refuse_what_cannot_be(drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=3)
    envs.reset(seed=[7, 8, 9])
    assert envs.call("np_random_seed") == envs.get_attr("np_random_seed") == (7, 8, 9)
    assert len(set(envs.get_attr("session_id"))) == 3
    for call in (
        lambda: envs.get_attr("no_such_attribute"),
        lambda: envs.call("no_such_method", 1),
        lambda: envs.set_attr("no_such_attribute", 1),
    ):
        with pytest.raises(AttributeError, match="no_such"):
            call()


@requirement("vector/closed")
@pytest.mark.parametrize("call", ["reset", "step"])
def test_a_closed_one_stays_closed(call: str, walk: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(walk.base_url, num_envs=2)
    envs.reset(seed=1)
    envs.close()
    envs.close()
    assert envs.closed
    with pytest.raises(errors.ClientClosed):
        envs.step(np.array([0, 0])) if call == "step" else envs.reset()


@requirement("vector/closed")
def test_closing_one_that_never_connected_is_closing(make_many: MakeMany, drawn: RunningServer) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=2)
    envs.close()
    assert envs.closed


@requirement("vector/actions")
def test_a_step_before_the_first_reset_is_refused(
    make_many: MakeMany, make: Callable[..., RemoteEnv], walk: Any
) -> None:
    with pytest.raises(ResetNeeded):
        make_many(walk.base_url, num_envs=2).step(np.array([0, 0]))
    with pytest.raises(ResetNeeded):
        make(walk.base_url).step(0)


def steps_of(envs: RemoteVectorEnv, count: int) -> list[tuple[Any, list[int]]]:
    """Observations and what is said of their seeds, from a seeded reset on."""
    observations, infos = envs.reset(seed=7)
    seen = [(observations, infos["seed_applied"].tolist())]
    for _ in range(count):
        observations, *_, infos = envs.step(np.zeros(envs.num_envs, np.int64))
        seen.append((observations, infos["seed_applied"].tolist()))
    return seen


@requirement("E3")
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("takes_seeds", [True, False])
def test_lanes_that_are_stepped_together_follow_from_their_seed_or_say_that_they_do_not(
    takes_seeds: bool, mode: AutoresetMode, make_many: MakeMany, wire: dict[str, Any]
) -> None:
    """Without a random stream of its own, an environment needs a seed for every episode that it begins by itself."""
    with running_server(f"tests.support.apps.bridge_vectors:{'seeded' if takes_seeds else 'app'}") as server:
        envs = make_many(server.base_url, num_envs=2, autoreset_mode=mode)
        first, second = steps_of(envs, 3 * EPISODE), steps_of(envs, 3 * EPISODE)
    assert [applied for _, applied in first] == [applied for _, applied in second]
    for (observations, applied), (again, _) in zip(first, second, strict=True):
        are_equal = [here == there for here, there in zip(observations, again, strict=True)]
        assert are_equal == [each == 1 for each in applied]
    is_confirmed = takes_seeds or wire.get("wire") == "standard"
    assert (first[-1][1] == [1, 1]) is is_confirmed
    assert first[0][1] == [1, 1]
