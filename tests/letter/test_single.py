"""One environment, row by row of what Gymnasium and the trainers ask of it."""

from __future__ import annotations

import gc
import os
import signal
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import identical, identical_steps, shares_anything
from tests.letter.requirements import requirement
from tests.support import drawn as local
from tests.support.apps.bridge_faults import COMMANDS, RESERVED
from tests.support.apps.bridge_vectors import NAN
from tests.support.servers import RunningServer, running_server

Make = Callable[..., RemoteEnv]

PATIENCE = 30.0
"""Seconds after which something hangs; on a loaded machine all else takes its time too."""


def order(command: str, value: int = 0) -> dict[str, Any]:
    return {"command": np.array([COMMANDS.index(command)]), "value": np.array([value])}


@requirement("E1")
def test_it_is_an_environment_and_nothing_that_trainers_take_for_something_else(
    walk: RunningServer, make: Make
) -> None:
    env = make(walk.base_url)
    assert isinstance(env, gymnasium.Env)
    assert not any("__getattr__" in vars(kind) for kind in type(env).__mro__)
    names = ("num_envs", "device", "reward_space", "compute_reward", "num_agents", "is_multiagent", "autoreset_mode")
    assert [name for name in (*names, "seed", "env") if hasattr(env, name)] == []
    env.reset(seed=1)
    assert [name for name in (*names, "seed", "env") if hasattr(env, name)] == []


@requirement("E2")
def test_metadata_is_each_instances_own(walk: RunningServer, make: Make) -> None:
    first, second = make(walk.base_url), make(walk.base_url)
    assert isinstance(first.metadata["render_modes"], list)
    assert first.metadata["render_fps"] > 0
    first.metadata["render_modes"].append("first's")
    first.metadata["more"] = True
    assert "first's" not in second.metadata["render_modes"]
    assert "more" not in second.metadata
    assert "first's" not in type(first).metadata["render_modes"]


@requirement("E3")
@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_resets_without_a_seed_follow_from_the_last_seed(kind: str, request: Any, make: Make) -> None:
    env = make(request.getfixturevalue(kind).base_url)
    seen = [env.reset(seed=seed)[0] for seed in (123, None, 123, None, None, 456)]
    assert identical(seen[0], seen[2])
    assert identical(seen[1], seen[3])
    assert not identical(seen[3], seen[4])
    assert not identical(seen[0], seen[5])
    assert env.np_random_seed == 456


@requirement("E3")
def test_np_random_is_the_generator_that_gymnasium_makes_of_the_seed(walk: RunningServer, make: Make) -> None:
    env = make(walk.base_url)
    env.reset(seed=9)
    before = env.np_random
    env.reset()
    assert env.np_random is before
    env.reset(seed=9)
    assert env.np_random is not before
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)


@requirement("E4")
def test_a_step_returns_pythons_own_types(drawn: RunningServer, make: Make) -> None:
    env = make(f"{drawn.base_url}/discrete")
    env.reset(seed=1)
    for _ in range(3):
        observation, reward, terminated, truncated, info = env.step(2)
        assert [type(value) for value in (reward, terminated, truncated, info)] == [float, bool, bool, dict]
        assert type(observation) is np.int64
        if terminated or truncated:
            env.reset()


@requirement("E4")
def test_a_missing_reward_is_zero_and_told(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url)
    env.reset()
    _, reward, _, _, info = env.step(order("no reward"))
    assert (reward, type(reward), info["reward_missing"]) == (0.0, float, True)


@requirement("E4")
def test_a_reward_that_is_no_number_is_an_error_and_never_comes(make: Make) -> None:
    with running_server("tests.support.apps.letter_rewards:app") as server:
        env = make(server.base_url)
        env.reset()
        for _ in range(2):
            with pytest.raises(errors.EnvironmentFailure):
                env.step(0)
        assert env.step(1)[1] == 1.0


@requirement("E4")
@pytest.mark.parametrize(
    ("app", "action"), [("letter_rewards:lenient", 0), ("bridge_vectors:lenient", NAN)], ids=["alone", "together"]
)
def test_a_reward_that_is_no_number_is_a_missing_one_where_the_environment_allows_it(
    app: str, action: int, make_many: Callable[..., RemoteVectorEnv]
) -> None:
    with running_server(f"tests.support.apps.{app}") as server:
        envs = make_many(server.base_url, num_envs=2)
        envs.reset(seed=1)
        _, rewards, *_, infos = envs.step(np.array([action, 1]))
    assert (rewards.tolist(), infos["reward_missing"].tolist()) == ([0.0, 1.0], [True, False])


@requirement("E5")
@pytest.mark.parametrize("space", ["box-float32", "dict-nested", "tuple", "dict-mixed", "sequence"])
def test_nothing_that_is_returned_is_shared_with_anything_else(space: str, drawn: RunningServer, make: Make) -> None:
    env = make(f"{drawn.base_url}/{space}")
    action = local.draw(env.action_space, np.random.default_rng(0))
    returned: list[Any] = [env.reset(seed=1), env.step(action), env.step(action), env.reset(), env.reset(seed=1)]
    for index, values in enumerate(returned):
        for other in returned[:index]:
            assert not shares_anything([values[0], values[-1]], [other[0], other[-1]])
    assert not shares_anything(returned[0][0], env.observation_space.__dict__.get("low"))


@requirement("E6")
@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_the_same_seed_and_actions_give_the_same_infos(kind: str, request: Any, make: Make) -> None:
    url = request.getfixturevalue(kind).base_url

    def infos() -> list[Any]:
        env = make(url)
        return [env.reset(seed=3)[1], *(env.step(number % 2)[4] for number in range(3))]

    assert identical(infos(), infos())


@requirement("E7")
def test_infos_are_flat_and_have_the_same_keys_and_types_from_the_first_on(drawn: RunningServer, make: Make) -> None:
    env = make(f"{drawn.base_url}/discrete")
    seen = [env.reset(seed=1)[1], env.step(0)[4], env.reset()[1], env.step(1)[4]]
    kinds = [{key: type(value) for key, value in info.items()} for info in seen]
    assert kinds == [kinds[0]] * 4
    assert set(kinds[0].values()) <= {int, float, bool, str, np.ndarray}
    assert not {"episode", "final_obs", "final_info", "terminal_observation", "TimeLimit.truncated"} & set(kinds[0])


@requirement("E7")
def test_reserved_keys_are_moved_out_of_the_way(faults: RunningServer, make: Make) -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(make(faults.base_url))
    env.reset()
    info = env.step(order("reserved"))[4]
    assert {f"metadata.{key}": value for key, value in RESERVED.items()}.items() <= info.items()
    assert not {"episode", "failure", "failure_message"} & set(info)
    assert set(env.step(order("done"))[4]["episode"]) == {"r", "l", "t"}


@requirement("E7")
def test_keys_that_are_no_texts_become_texts(faults: RunningServer, make: Make) -> None:
    env = make(faults.base_url)
    env.reset()
    info = env.step(order("keys"))[4]
    assert {type(key) for key in info} == {str}
    assert info["5"] == "five"
    assert env.step(order("fine"))[1] == 1.0, "and it costs the session nothing"


ONE: list[Any] = [1, np.int32(1), np.int64(1), np.uint8(1), np.array(1), np.array([1]), np.array([[1]], np.int32)]


@requirement("E8")
@pytest.mark.parametrize("action", ONE, ids=[f"{type(each).__name__}-{np.ndim(each)}d" for each in ONE])
def test_an_integer_is_taken_in_every_form(action: Any, drawn: RunningServer, make: Make) -> None:
    env = make(f"{drawn.base_url}/discrete")
    env.reset(seed=1)
    assert env.step(action)[1] == local.number_of(1)


@requirement("E8")
def test_texts_and_numbers_are_taken_in_numpys_forms(drawn: RunningServer, make: Make) -> None:
    text, box = make(f"{drawn.base_url}/text"), make(f"{drawn.base_url}/box-float32")
    text.reset(seed=1)
    box.reset(seed=1)
    assert text.step(np.str_("abc1"))[1] == local.number_of("abc1")
    values = np.array([0.5, -0.25, 1])
    for form in (values, values.astype(np.float32), list(values)):
        assert box.step(form)[1] == local.number_of(values)
        box.reset()


@requirement("E9")
def test_closing_is_idempotent_before_during_and_after_a_session(walk: RunningServer, make: Make) -> None:
    unused, used = make(walk.base_url), make(walk.base_url)
    used.reset(seed=1)
    for env in (unused, used):
        env.close()
        env.close()
        with pytest.raises(errors.ClientClosed):
            env.reset()


@requirement("E9")
def test_closing_neither_raises_nor_waits_when_the_server_is_gone_or_hangs(make: Make) -> None:
    with running_server("tests.support.apps.bridge_faults:app") as server:
        gone, hanging = make(server.base_url), make(server.base_url, timeouts={"step": 0.2})
        for env in (gone, hanging):
            env.reset()
        with pytest.raises(errors.ReplyTimeout):
            hanging.step(order("hang"))
        started = time.monotonic()
        hanging.close()
    gone.close()
    assert time.monotonic() - started < PATIENCE  # the server's own end included


@requirement("E9")
def test_closing_does_not_wait_for_a_server_that_stands_still(make: Make) -> None:
    with running_server("tests.support.apps.bridge_walks:walk") as server:
        env = make(server.base_url)
        env.reset(seed=1)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            env.close()
            assert time.monotonic() - started < PATIENCE
        finally:
            os.kill(server.pid, signal.SIGCONT)


@requirement("E9")
def test_a_forgotten_environment_frees_its_session(wire: dict[str, Any]) -> None:
    limits = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "30"}
    with running_server("tests.support.apps.bridge_walks:walk", env=limits) as server:
        for _ in range(3):
            env = RemoteEnv(server.base_url, **wire)
            env.reset(seed=1)
            forgotten = weakref.ref(env)
            del env
            gc.collect()
            assert forgotten() is None


@requirement("E10")
def test_environments_that_are_made_and_not_reset_take_no_session(make: Make) -> None:
    limits = {"MAX_CONCURRENT_ENVS": "1", "OPENENV_GYM_CAPACITY_WAIT": "4"}
    with running_server("tests.support.apps.bridge_walks:stream", env=limits) as server:
        unused = [make(server.base_url) for _ in range(20)]
        assert {env.session_id for env in unused} == {None}
        assert all(env.action_space == gymnasium.spaces.Discrete(2) for env in unused)
        unused[7].reset(seed=1)
        with pytest.raises(errors.CapacityReached):
            unused[8].reset(seed=1)
        unused[7].close()
        unused[8].reset(seed=1)


@requirement("E5", "E6", "E10")
@pytest.mark.parametrize("space", local.SPACES)
def test_every_step_is_the_one_that_the_environment_takes_locally(space: str, drawn: RunningServer, make: Make) -> None:
    env = make(f"{drawn.base_url}/{space}")
    here = local.Drawn(space)
    generator = np.random.default_rng(5)
    assert identical_steps(env.reset(seed=5), here.reset(seed=5))
    for _ in range(40):
        action = local.draw(env.action_space, generator)
        ours, theirs = env.step(action), here.step(action)
        assert identical_steps(ours, theirs)
        if ours[2] or ours[3]:
            assert identical_steps(env.reset(), here.reset())


@requirement("E3", "E5", "E6", "E10", "S1")
@pytest.mark.parametrize("kind", ["walk", "stream", "texts"])
def test_gymnasiums_own_checker_has_nothing_to_say(
    kind: str, request: Any, registry: None, wire: dict[str, Any]
) -> None:
    keywords = {"base_url": request.getfixturevalue(kind).base_url, **wire}
    gymnasium.register("letter/Checked-v0", "openenv_gym.bridge.env:RemoteEnv", kwargs=keywords)
    env = gymnasium.make("letter/Checked-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()
