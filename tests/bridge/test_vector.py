"""A vector of remote environments behaves as Gymnasium's own vector of the same environments, lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from openenv_gym_protocol import errors

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.apps.bridge_walks import StreamWalk
from tests.support.servers import RunningServer, running_server

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def make(wire: Wire) -> Iterator[Callable[..., RemoteVectorEnv]]:
    made: list[RemoteVectorEnv] = []

    def make(*args: Any, **kwargs: Any) -> RemoteVectorEnv:
        made.append(RemoteVectorEnv(*args, **{"wire": wire, **kwargs}))
        return made[-1]

    yield make
    for env in made:
        env.close()


def same(first: Any, second: Any) -> bool:
    return bool(data_equivalence(first, second, exact=True))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_trajectories_equal_gymnasiums_own(
    kind: str, mode: str, request: Any, make: Callable[..., RemoteVectorEnv]
) -> None:
    server: RunningServer = request.getfixturevalue(kind)
    remote = make(server.base_url, num_envs=5, autoreset_mode=mode)
    local = SyncVectorEnv([lambda: RemoteEnv(server.base_url, wire="standard")] * 5, autoreset_mode=mode)
    try:
        assert remote.observation_space == local.observation_space
        assert remote.action_space == local.action_space
        remote.action_space.seed(1)
        assert same(remote.reset(seed=20), local.reset(seed=20))
        finished = 0
        for _ in range(40):
            actions = remote.action_space.sample()
            ours, theirs = remote.step(actions), local.step(actions)
            assert same(ours, theirs), (ours, theirs)
            finished += int((ours[2] | ours[3]).sum())
        assert finished > 5
        assert same(remote.reset(), local.reset())
        assert remote.np_random_seed == local.np_random_seed == (20, 21, 22, 23, 24)
    finally:
        local.close()


def test_disabled_lanes_are_reset_by_mask_as_gymnasiums_own_are(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    remote = make(walk.base_url, num_envs=3, autoreset_mode=AutoresetMode.DISABLED)
    local = SyncVectorEnv(
        [lambda: RemoteEnv(walk.base_url, wire="standard")] * 3, autoreset_mode=AutoresetMode.DISABLED
    )
    try:
        assert same(remote.reset(seed=[4, 5, 6]), local.reset(seed=[4, 5, 6]))
        over = np.zeros(3, np.bool_)
        for _ in range(20):
            if over.any():
                options = {"reset_mask": over}
                assert same(remote.reset(options=options), local.reset(options=dict(options)))
                assert options == {"reset_mask": over}, "the caller's options must stay as they were"
            actions = np.array([0, 1, 1])
            ours = remote.step(actions)
            assert same(ours, local.step(actions))
            over = ours[2] | ours[3]
    finally:
        local.close()


def test_stepping_a_finished_lane_without_autoreset_is_refused_as_gymnasium_refuses_it(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(walk.base_url, num_envs=2, autoreset_mode="Disabled", limit=1)
    local = SyncVectorEnv([lambda: RemoteEnv(walk.base_url, limit=1)] * 2, autoreset_mode=AutoresetMode.DISABLED)
    try:
        for each in (env, local):
            each.reset(seed=1)
            each.step(np.array([0, 0]))
            with pytest.raises(AssertionError):
                each.step(np.array([0, 0]))
    finally:
        local.close()
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(errors.EpisodeOver, match=r"lane 1 is over.*reset_mask") as raised:
        env.step([0, 0])
    assert raised.value.lane == 1


def test_only_a_step_can_lack_its_reward(faults: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env = make(faults.base_url, num_envs=2, max_episode_steps=1)
    assert env.reset()[1]["reward_missing"].tolist() == [False, False]
    assert env.step(orders("no reward", "fine"))[4]["reward_missing"].tolist() == [True, False]
    assert env.step(orders("no reward", "fine"))[4]["reward_missing"].tolist() == [False, False]


def test_a_time_limit_truncates_and_counts_each_lane_for_itself(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(walk.base_url, num_envs=4, max_episode_steps=3, limit=1000)
    limited = SyncVectorEnv(
        [lambda: gymnasium.wrappers.TimeLimit(RemoteEnv(walk.base_url, limit=1000), max_episode_steps=3)] * 4
    )
    try:
        assert same(env.reset(seed=8), limited.reset(seed=8))
        for number in range(12):
            actions = np.full(4, number % 2)
            assert same(env.step(actions), limited.step(actions))
    finally:
        limited.close()


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (7, (7, 8, 9)),
        (np.int64(7), (7, 8, 9)),
        ([1, 2, 3], (1, 2, 3)),
        ((5, 5, 5), (5, 5, 5)),
        (np.array([3, 2, 1]), (3, 2, 1)),
        ([np.int32(1), 2, 3], (1, 2, 3)),
    ],
)
def test_seeds_come_in_many_forms(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv], seed: Any, expected: tuple[int, ...]
) -> None:
    env = make(walk.base_url, num_envs=3)
    first = env.reset(seed=seed)
    assert env.np_random_seed == expected
    assert same(first, env.reset(seed=list(expected)))


def test_lanes_without_a_seed_keep_their_generators(walk: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env, other = make(walk.base_url, num_envs=2), make(walk.base_url, num_envs=2)
    env.reset(seed=[1, 2])
    other.reset(seed=[1, 2])
    assert same(env.reset(seed=[None, 9]), other.reset(seed=[None, 9]))
    assert env.np_random_seed == (1, 9)


@pytest.mark.parametrize("seed", [[1, 2], "seed", [1, -1, 2], [1, 2.5, 3], True])
def test_what_is_no_seed_is_refused(make: Callable[..., RemoteVectorEnv], walk: RunningServer, seed: Any) -> None:
    with pytest.raises(ValueError, match="seed"):
        make(walk.base_url, num_envs=3).reset(seed=seed)


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (np.array([True]), ValueError),
        (np.array([1, 0]), TypeError),
        (np.array([False, False]), ValueError),
    ],
)
def test_what_is_no_mask_is_refused(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv], mask: Any, error: type[Exception]
) -> None:
    env = make(walk.base_url, num_envs=2)
    env.reset()
    with pytest.raises(error, match="reset_mask"):
        env.reset(options={"reset_mask": mask})


def test_some_lanes_cannot_be_reset_before_all(walk: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env = make(walk.base_url, num_envs=2)
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded):
        env.step([0, 1])


@pytest.mark.parametrize(("actions", "error"), [([0], ValueError), ([0, 1, 1], ValueError), (1, TypeError)])
def test_as_many_actions_as_lanes_are_taken(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv], actions: Any, error: type[Exception]
) -> None:
    env = make(walk.base_url, num_envs=2)
    env.reset()
    with pytest.raises(error):
        env.step(actions)


def test_a_wrong_action_leaves_every_lane_as_it_was(walk: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env, other = make(walk.base_url, num_envs=3), make(walk.base_url, num_envs=3)
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(errors.InvalidAction, match="lane 2") as raised:
        env.step([0, 1, 2])
    assert raised.value.lane == 2
    with pytest.raises(errors.InvalidAction, match=r"is None.*lane 1"):
        env.step([0, None, 1])
    assert same(env.step([0, 1, 1]), other.step([0, 1, 1]))


def test_every_result_is_a_new_object(stream: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env = make(stream.base_url, num_envs=2)
    first, _ = env.reset(seed=1)
    kept = {key: value.copy() for key, value in first.items()}
    second, rewards, terminations, truncations, _ = env.step(np.array([1, 1]))
    assert not any(np.shares_memory(first[key], second[key]) for key in first)
    assert same(first, kept)
    second["wind"][:] = 99
    masked, _ = env.reset(options={"reset_mask": np.array([True, False])})
    assert masked["wind"].max() <= 1
    assert [array.dtype.name for array in (rewards, terminations, truncations)] == ["float64", "bool", "bool"]


def test_the_mode_is_told_as_gymnasium_expects_it(make: Callable[..., RemoteVectorEnv], walk: RunningServer) -> None:
    first, second = make(walk.base_url), make(walk.base_url, autoreset_mode="SameStep")
    assert first.metadata["autoreset_mode"] is first.autoreset_mode is AutoresetMode.NEXT_STEP
    assert second.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert "autoreset_mode" not in RemoteVectorEnv.metadata


def test_vector_wrappers_run(walk: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(make(walk.base_url, num_envs=3, limit=2))
    recorded.reset(seed=1)
    infos = [recorded.step(np.array([0, 1, 0]))[4] for _ in range(3)]
    assert any("episode" in info for info in infos)
    listed = gymnasium.wrappers.vector.DictInfoToList(make(walk.base_url, num_envs=3))
    _, first = listed.reset(seed=1)
    assert [set(info) for info in first] == [{"steps", "seed_applied", "reward_missing"}] * 3


def test_text_batches_are_tuples_of_texts(texts: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env = make(texts.base_url, num_envs=2)
    env.reset()
    observation, *_ = env.step(("ä b", "日本"))
    assert observation["text"] == ("1: ä b", "1: 日本")
    assert observation in env.observation_space
    with pytest.raises(TypeError, match="One text"):
        env.step("ab")


def orders(*commands: str, value: int = 0) -> dict[str, Any]:
    numbers = np.array([[COMMANDS.index(command)] for command in commands])
    return {"command": numbers, "value": np.full_like(numbers, value)}


def test_a_late_lane_is_named_and_nothing_is_shifted(
    faults: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(faults.base_url, num_envs=3, timeouts={"step": 2.0})
    env.reset()
    with pytest.raises(errors.ReplyTimeout, match="lane 1") as raised:
        env.step(orders("fine", "hang", "fine"))
    assert (raised.value.lane, raised.value.server) == (1, faults.base_url)
    assert raised.value.session == env.get_attr("session_id")[1]
    with pytest.raises(errors.SessionLost, match="lane 1"):
        env.step(orders("fine", "fine", "fine"))
    with pytest.raises(errors.SessionLost):
        env.reset(options={"reset_mask": np.array([False, True, False])})
    env.reset()
    assert env.step(orders("fine", "fine", "fine"))[0].tolist() == [[1.0], [1.0], [1.0]]


def test_an_error_is_raised_when_every_lane_has_settled(
    faults: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(faults.base_url, num_envs=3)
    env.reset()
    sessions = env.get_attr("session_id")
    with pytest.raises(errors.ExecutionError, match="as ordered") as raised:
        env.step(orders("raise", "fine", "raise"))
    assert raised.value.lane == 0
    env.reset()
    assert env.get_attr("session_id") == sessions, "an environment that fails keeps its session"


def test_an_observation_outside_its_space_names_its_lane(
    faults: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(faults.base_url, num_envs=2)
    env.reset()
    with pytest.raises(errors.InvalidObservation, match="field 'level'") as raised:
        env.step(orders("fine", "outside"))
    assert raised.value.lane == 1


def test_infos_of_different_kinds_do_not_stop_training(
    faults: RunningServer, make: Callable[..., RemoteVectorEnv], wire: Wire
) -> None:
    env = make(faults.base_url, num_envs=2)
    env.reset()
    # The last is an integer beyond 64 bits, which msgpack cannot carry.
    for value in range(9 if wire == "standard" else 8):
        infos = env.step(orders("mixed", "fine", value=value))[4]
        key = "mixed" if value != 7 else "mixed.a"
        assert infos[f"_{key}"][0]
        assert infos["mixed"][1] == 1


def test_a_full_server_says_so(make: Callable[..., RemoteVectorEnv]) -> None:
    limits = {"MAX_CONCURRENT_ENVS": "2", "OPENENV_GYM_CAPACITY_WAIT": "1"}
    with running_server("tests.support.apps.bridge_walks:walk", env=limits) as server:
        env = make(server.base_url, num_envs=3)
        with pytest.raises(errors.CapacityReached) as raised:
            env.reset()
        assert raised.value.max_sessions == 2
        env.close()
        smaller = make(server.base_url, num_envs=2)
        smaller.reset()
        smaller.close()


def test_lanes_are_dealt_out_to_several_servers(
    walk: RunningServer, stream: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    with running_server("tests.support.apps.bridge_walks:walk") as second:
        urls = [walk.base_url, second.base_url]
        env = make(urls, num_envs=4)
        alone = make(walk.base_url, num_envs=4)
        assert same(env.reset(seed=1), alone.reset(seed=1))
        assert env.servers == (*urls, *urls)
        blocks = make(urls, num_envs=4, sessions_per_server=2)
        blocks.reset()
        assert blocks.servers == (urls[0], urls[0], urls[1], urls[1])
    with pytest.raises(errors.ConfigurationError):
        make(urls, num_envs=5, sessions_per_server=2)


def test_many_lanes_connect_and_step(stream: RunningServer, make: Callable[..., RemoteVectorEnv]) -> None:
    env = make(stream.base_url, num_envs=100)
    observation, _ = env.reset(seed=0)
    expected = []
    for seed in range(100):
        local = StreamWalk()
        expected.append(local.reset(seed=seed).position)
    assert observation["position"].tolist() == expected
    assert len(set(env.get_attr("session_id"))) == 100


@pytest.mark.parametrize(
    "keywords",
    [
        {"num_envs": 0},
        {"num_envs": "two"},
        {"max_episode_steps": "a"},
        {"max_episode_steps": 2.5},
        {"timeouts": 5},
        {"autoreset_mode": "Sometimes"},
        {"max_episode_steps": 0},
        {"on_failure": "replace"},
        {"sessions_per_server": 0},
    ],
)
def test_values_that_cannot_be_are_refused(walk: RunningServer, keywords: dict[str, Any]) -> None:
    with pytest.raises(errors.ConfigurationError):
        RemoteVectorEnv(walk.base_url, **keywords)


@pytest.mark.parametrize(
    ("mode", "meant"),
    [("NEXT_STEP", "NextStep"), ("same-step", "SameStep"), ("disabled", "Disabled"), ("NextStp", "NextStep")],
)
def test_another_spelling_of_an_autoreset_mode_is_told_gymnasiums(mode: str, meant: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"Did you mean '{meant}'"):
        RemoteVectorEnv("http://127.0.0.1:9", autoreset_mode=mode)


def test_an_unknown_keyword_is_a_type_error(walk: RunningServer) -> None:
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'num_env'.*num_envs"):
        RemoteVectorEnv(walk.base_url, num_env=3)


def test_what_a_remote_environment_cannot_have_is_refused(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(walk.base_url, num_envs=2)
    with pytest.raises(AttributeError, match="gravity"):
        env.get_attr("gravity")
    with pytest.raises(AttributeError, match="gravity"):
        env.set_attr("gravity", 9.81)
    with pytest.raises(AttributeError, match="jump"):
        env.call("jump", 3)
    assert env.call("server") == (None, None) or env.call("server") == (walk.base_url,) * 2


def test_make_vec_takes_the_mode_and_the_limit_as_plain_keywords(walk: RunningServer) -> None:
    gymnasium.register(
        "bridge-tests/Walk-v0",
        "openenv_gym.bridge.env:RemoteEnv",
        vector_entry_point="openenv_gym.bridge.vector:RemoteVectorEnv",
        max_episode_steps=4,
        kwargs={"base_url": walk.base_url},
    )
    try:
        env = gymnasium.make_vec("bridge-tests/Walk-v0", num_envs=3, autoreset_mode="SameStep", limit=50)
        assert isinstance(env.unwrapped, RemoteVectorEnv)
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        env.reset(seed=1)
        truncations = [env.step(np.array([0, 1, 0]))[3] for _ in range(4)]
        assert truncations[-1].any()
        env.close()
        sync = gymnasium.make_vec("bridge-tests/Walk-v0", num_envs=2, vectorization_mode="sync")
        sync.reset(seed=1)
        sync.close()
    finally:
        gymnasium.registry.pop("bridge-tests/Walk-v0")


def test_a_closed_vector_stays_closed(walk: RunningServer) -> None:
    env = RemoteVectorEnv(walk.base_url, num_envs=2)
    env.reset()
    env.close()
    env.close()
    assert env.closed
    with pytest.raises(errors.ClientClosed):
        env.reset()


def test_what_is_no_batch_of_actions_says_what_would_be(
    walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    env = make(walk.base_url, num_envs=2)
    env.reset(seed=1)
    with pytest.raises(TypeError, match="one action for each of the 2 environments"):
        env.step(0)
    with pytest.raises(TypeError, match="A dict is no batch"):
        env.step({"direction": np.array([0, 1])})
    env.step([0, 1])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda env: env.step([0, 0]), r"step\(\)"),
        (lambda env: env.send([0, 0]), r"send\(\)"),
        (lambda env: env.reset(options={"reset_mask": np.array([True, False])}), r"reset\(\) of some lanes"),
    ],
)
def test_what_comes_before_the_first_reset_is_named(
    call: Callable[[RemoteVectorEnv], Any], named: str, walk: RunningServer, make: Callable[..., RemoteVectorEnv]
) -> None:
    with pytest.raises(ResetNeeded, match=f"Cannot call {named} before reset"):
        call(make(walk.base_url, num_envs=2))
