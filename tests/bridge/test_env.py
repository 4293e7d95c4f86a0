"""One remote environment is an ordinary Gymnasium environment."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from openenv_gym_protocol import errors

from openenv_gym.bridge import setup
from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.spaces.text import UnicodeText
from openenv_gym.bridge.wires import Wire
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.apps.bridge_walks import StreamWalk
from tests.support.log_records import records_of_ours
from tests.support.pools import PROJECTS, all_end, process_at
from tests.support.servers import RunningServer, running_server

NOWHERE = "http://127.0.0.1:9"


def declared(**changes: Any) -> Declared:
    said: dict[str, Any] = {
        "action_space": StreamWalk.spaces["action"],
        "observation_space": StreamWalk.spaces["observation"],
        "reset_options": {"limit": {"type": "integer"}},
        "seeded_stream": True,
        "seed_supported": True,
    }
    return Declared(**{**said, **changes})


@pytest.fixture
def make(wire: Wire) -> Iterator[Callable[..., RemoteEnv]]:
    made: list[RemoteEnv] = []

    def make(*args: Any, **kwargs: Any) -> RemoteEnv:
        made.append(RemoteEnv(*args, **{"wire": wire, **kwargs}))
        return made[-1]

    yield make
    for env in made:
        env.close()


def trajectory(env: gymnasium.Env[Any, Any], steps: int = 25, seed: int | None = 5) -> list[Any]:
    """What an environment returns, with resets as they fall due."""
    seen: list[Any] = [env.reset(seed=seed)]
    for number in range(steps):
        seen.append(env.step(number % 2))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_gymnasiums_own_checker_finds_nothing(kind: str, request: Any, make: Callable[..., RemoteEnv]) -> None:
    server: RunningServer = request.getfixturevalue(kind)
    gymnasium.register("bridge-tests/Walk-v0", RemoteEnv, kwargs={"base_url": server.base_url})
    try:
        env = gymnasium.make("bridge-tests/Walk-v0")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped)
        env.close()
    finally:
        gymnasium.registry.pop("bridge-tests/Walk-v0")


def test_a_made_environment_runs_through_gymnasiums_wrappers(walk: RunningServer) -> None:
    gymnasium.register("bridge-tests/Walk-v0", "openenv_gym.bridge.env:RemoteEnv", max_episode_steps=3)
    try:
        env = gymnasium.wrappers.RecordEpisodeStatistics(
            gymnasium.make("bridge-tests/Walk-v0", base_url=walk.base_url, limit=100)
        )
        assert gymnasium.make(pickle.loads(pickle.dumps(env.spec))).spec == env.spec
        env.reset(seed=1)
        flags = [env.step(number % 2)[2:4] for number in range(3)]
        assert flags[-1][0] or flags[-1][1]
        env.close()
    finally:
        gymnasium.registry.pop("bridge-tests/Walk-v0")


@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_after_a_seed_everything_is_determined(kind: str, request: Any, make: Callable[..., RemoteEnv]) -> None:
    server: RunningServer = request.getfixturevalue(kind)
    first = trajectory(make(server.base_url))
    assert data_equivalence(first, trajectory(make(server.base_url)), exact=True)
    assert not data_equivalence(first, trajectory(make(server.base_url), seed=6), exact=True)


def test_an_environment_with_a_stream_gets_no_seed_but_its_own(
    stream: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(stream.base_url)
    local = StreamWalk()
    for seed in (9, None, None):
        observation, info = env.reset(seed=seed)
        assert observation["position"] == local.reset(seed=seed).position
        assert info["seed_applied"] == 1


def test_an_unseeded_episode_says_so(stream: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    assert make(stream.base_url).reset()[1]["seed_applied"] == 0


def test_the_first_reset_connects_and_construction_does_not(make: Callable[..., RemoteEnv]) -> None:
    env = make(NOWHERE, declared=declared())
    assert env.action_space == spaces.Discrete(2)
    assert env.session_id is None
    with pytest.raises(errors.ConnectError):
        env.reset()


def test_declared_spaces_that_the_server_does_not_have_are_refused(
    stream: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(stream.base_url, declared=declared(action_space={"type": "Discrete", "n": 3}))
    with pytest.raises(errors.SchemaMismatch, match=r"Discrete\(3\)"):
        env.reset()


def test_exact_spaces_are_used_as_declared_and_flat_on_request(
    stream: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    exact, flat = make(stream.base_url), make(stream.base_url, spaces="flat")
    assert list(exact.observation_space.spaces) == ["wind", "position"]  # type: ignore[attr-defined]
    assert exact.observation_space["position"] == spaces.Discrete(11, start=-5)  # type: ignore[index]
    assert flat.observation_space["position"] == spaces.Discrete(11)  # type: ignore[index]
    seen, shifted = exact.reset(seed=2)[0], flat.reset(seed=2)[0]
    assert shifted["position"] == seen["position"] + 5


def test_the_flat_view_of_declared_spaces_is_the_same_before_and_after_connecting(
    stream: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(stream.base_url, declared=declared(), spaces="flat")
    assert env.reset(seed=1)[0] in env.observation_space


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"frameskip": 1}, "frameskip"),
        ({"render_mode": "rgb_array"}, "rgb_array"),
        ({"frameskip": 1, "base_url": None, "path": "/no/such/project"}, "frameskip"),
        ({"timeouts": {"strep": 1}}, "strep.*step"),
        ({"limt": 3}, "limt.*limit"),
        ({"reset_options": {"limt": 3}}, "limt.*limit"),
    ],
)
def test_an_unknown_keyword_is_a_type_error_before_anything_starts(keywords: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        RemoteEnv(**{"base_url": NOWHERE, "declared": declared(), **keywords})


def test_an_unknown_keyword_is_refused_in_pythons_words() -> None:
    with pytest.raises(errors.UnknownOption, match="got an unexpected keyword argument 'frameskip'"):
        RemoteEnv(NOWHERE, declared=declared(), frameskip=1)


def test_an_option_of_an_environment_that_lists_none_is_told_how_to_be_written() -> None:
    with pytest.raises(errors.UnknownOption, match=r"argument 'target'.*reset_options=\{'target': 2\}"):
        RemoteEnv(path=str(PROJECTS / "plain"), target=2)


def test_a_keyword_of_vector_environments_names_what_makes_those() -> None:
    with pytest.raises(errors.UnknownOption, match=r"argument 'autoreset_mode'.*gymnasium\.make_vec"):
        RemoteEnv(NOWHERE, declared=declared(), autoreset_mode="NextStep")


@pytest.mark.parametrize(
    ("keywords", "named"),
    [({"base_url": 8000}, "base_url="), ({"timeouts": 5}, "timeouts="), ({"token": 3}, "token=")],
)
def test_a_keyword_of_a_wrong_type_is_named(keywords: dict[str, Any], named: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"^{named}"):
        RemoteEnv(**{"base_url": NOWHERE, "declared": declared(), **keywords})


def test_options_of_a_reset_that_are_no_dict_are_refused_before_anything_is_sent() -> None:
    env = RemoteEnv(NOWHERE, declared=declared())
    with pytest.raises(errors.ConfigurationError, match=r"reset\(options=\)"):
        env.reset(options=[1])  # type: ignore[arg-type]


def test_a_token_that_stands_in_the_keywords_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    setup._warn_of_literal_token.cache_clear()
    with caplog.at_level(logging.WARNING, logger="openenv_gym"):
        for token in ("env:SOME_TOKEN", "secret", "secret"):
            RemoteEnv(NOWHERE, declared=declared(), token=token)
    (record,) = records_of_ours(caplog)
    assert "env:NAME" in record.getMessage()
    assert "secret" not in record.getMessage()


def test_reset_options_that_are_known_beforehand_are_keywords_though_the_spaces_are_not(
    walk: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(walk.base_url, declared=Declared(reset_options={"limit": {}}), limit=1)
    env.reset(seed=4)
    assert env.step(0)[3]
    with pytest.raises(errors.UnknownOption, match="limit"):
        make(walk.base_url, declared=Declared(reset_options={"limit": {}}), limits=1)


@pytest.mark.parametrize("given", [{"ghost": 1}, {"reset_options": {"ghost": 1}}])
def test_an_option_that_the_catalogue_knows_and_the_server_does_not_is_refused_before_a_reset(
    given: dict[str, Any], walk: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(walk.base_url, declared=declared(reset_options={"limit": {}, "ghost": {}}), **given)
    with pytest.raises(errors.UnknownOption, match=r"'ghost'.*limit"):
        env.reset()
    assert env.session_id is None, "nobody was asked to reset"


def test_the_options_of_a_running_server_are_keywords(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    with pytest.raises(errors.UnknownOption, match="limit"):
        make(walk.base_url, limits=1)
    env = make(walk.base_url, limit=1)
    env.reset(seed=4)
    assert env.step(0)[3]
    env.reset(seed=4, options={"limit": 2})
    assert not env.step(0)[3]
    env.reset(seed=4)
    assert env.step(0)[3], "an option of one reset must not stay"
    with pytest.raises(errors.UnknownOption, match="limit"):
        env.reset(options={"limits": 1})


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"base_url": NOWHERE, "path": "."},
        {"base_url": NOWHERE, "settings": {"A": "b"}},
        {"base_url": ""},
        {"base_url": "ftp://host"},
        {"base_url": NOWHERE, "spaces": "round"},
        {"path": ".", "token": "x"},
    ],
)
def test_contradicting_keywords_are_refused(keywords: dict[str, Any]) -> None:
    with pytest.raises(errors.ConfigurationError):
        RemoteEnv(declared=declared(), **keywords)


def test_a_token_that_is_not_set_is_named(make: Callable[..., RemoteEnv], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRIDGE_TEST_TOKEN", raising=False)
    with pytest.raises(errors.ConfigurationError, match="BRIDGE_TEST_TOKEN"):
        make(NOWHERE, declared=declared(), token="env:BRIDGE_TEST_TOKEN").reset()


def test_truncation_and_termination_are_told_apart(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(walk.base_url)
    ends = [seen[2:4] for seen in trajectory(env, 60) if len(seen) == 5 and (seen[2] or seen[3])]
    assert (True, False) in ends
    assert (False, True) in ends
    assert (True, True) not in ends


def test_rewards_and_flags_are_pythons_own(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(walk.base_url)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(np.int32(1))
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    assert set(info) == {"steps", "seed_applied", "reward_missing"}


def test_a_step_before_the_first_reset_is_refused(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    with pytest.raises(ResetNeeded):
        make(walk.base_url).step(0)


def test_an_action_outside_its_space_changes_nothing(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env, other = make(walk.base_url), make(walk.base_url)
    env.reset(seed=3)
    other.reset(seed=3)
    with pytest.raises(errors.InvalidAction, match=r"field .direction.*Discrete\(2\)"):
        env.step(2)
    with pytest.raises(errors.InvalidAction, match=r"is None.*Discrete\(2\)"):
        env.step(None)
    assert data_equivalence(env.step(1), other.step(1), exact=True)


@pytest.mark.parametrize("wire", ["vector", "standard"])
def test_an_environment_that_cannot_be_made_says_how_to_read_why(wire: Any) -> None:
    env = RemoteEnv(path=PROJECTS / "guess", wire=wire, settings={"GUESS_IS_BROKEN": "1"})
    try:
        with pytest.raises(errors.FactoryError, match=r"env\.unwrapped\.logs\(\)"):
            env.reset(seed=1)
        assert "the guess is broken" in env.logs()
    finally:
        env.close()


@pytest.mark.parametrize("wire", ["vector", "standard"])
@pytest.mark.parametrize("view", ["flat", "faithful"])
def test_an_integer_is_played_as_it_was_given_and_seen_as_it_was_sent(wire: Any, view: Any) -> None:
    env = RemoteEnv(path=PROJECTS / "guess", wire=wire, spaces=view, reset_options={"target": 3})
    try:
        env.reset(seed=1)
        for number in (2**24 + 1, np.int64(-(2**53) + 1), 4.0):
            assert env.step(number)[0] == [int(number)]
        for wrong in (2.7, np.float32(2.5), 2**60, np.nan):
            with pytest.raises(errors.InvalidAction, match="'number'"):
                env.step(wrong)
        assert env.step(3)[1] == 1.0
    finally:
        env.close()


def test_text_goes_both_ways(texts: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(texts.base_url)
    assert env.action_space == UnicodeText()
    env.reset()
    observation, *_ = env.step(np.str_("grüß dich 😀\n"))
    assert observation["text"] == "1: grüß dich 😀\n"
    assert observation["words"][0] == 0
    assert int(observation["words"][1][0]) == 3


def order(command: str, value: int = 0) -> dict[str, Any]:
    return {"command": np.array([COMMANDS.index(command)]), "value": np.array([value])}


def test_a_missing_reward_is_zero_and_said(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url)
    assert env.reset()[1]["reward_missing"] is False
    _, reward, _, _, info = env.step(order("no reward"))
    assert reward == 0.0
    assert info["reward_missing"] is True
    assert env.step(order("fine"))[4]["reward_missing"] is False


def test_reserved_names_are_moved_out_of_the_way(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url)
    env.reset()
    info = env.step(order("reserved"))[4]
    assert info["metadata.episode"] == 1
    assert info["metadata._hidden"] == 2
    assert info["metadata.seed_applied"] == 5
    assert info["seed_applied"] == -1
    assert "episode" not in info


def test_an_observation_outside_its_space_is_named(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url)
    env.reset()
    with pytest.raises(errors.InvalidObservation, match="field 'level'"):
        env.step(order("outside"))


def test_a_failing_environment_keeps_its_session(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url)
    env.reset()
    session = env.session_id
    with pytest.raises(errors.ExecutionError, match="as ordered") as raised:
        env.step(order("raise"))
    assert (raised.value.server, raised.value.session) == (faults.base_url, session)
    assert env.step(order("fine"))[0] == 2.0


def test_a_late_reply_reaches_nobody(faults: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(faults.base_url, timeouts={"step": 2.0})
    env.reset()
    with pytest.raises(errors.ReplyTimeout, match=r"within 2 s"):
        env.step(order("hang"))
    with pytest.raises(errors.SessionLost):
        env.step(order("fine"))
    env.reset()
    assert env.step(order("fine"))[0] == 1.0


def test_a_server_that_dies_loses_the_session_with_a_picklable_error(
    faults: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(faults.base_url, timeouts={"connect": 3.0})
    env.reset()
    with pytest.raises(errors.InfrastructureFailure) as raised:
        env.step(order("exit"))
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is type(raised.value)
    assert (copy.args, copy.session) == (raised.value.args, env.session_id)
    with pytest.raises(errors.SessionLost):
        env.step(order("fine"))
    # The socket that the test passed on still takes connections, which nobody answers.
    with pytest.raises((errors.ConnectError, errors.ConnectTimeout)):
        env.reset()


def test_a_replaced_session_is_seeded_again(stream: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    def after_loss() -> Any:
        env = make(stream.base_url)
        env.reset(seed=11)
        session = env.session_id
        env._lanes.replace(0)  # the session is lost between two episodes
        seen = env.reset()
        assert env.session_id != session
        return seen

    first, second = after_loss(), after_loss()
    assert data_equivalence(first, second, exact=True)
    assert first[1]["seed_applied"] == 1


def test_the_environment_tells_about_itself(walk: RunningServer, make: Callable[..., RemoteEnv]) -> None:
    env = make(walk.base_url)
    env.reset(options={"episode_id": "seven"})
    assert env.episode_id == "seven"
    assert env.server == walk.base_url
    assert env.schema.action["properties"].keys() >= {"direction"}
    assert walk.base_url in repr(env)
    assert str(env.session_id) in repr(env)
    assert env.logs() == ""


def test_its_server_is_told_without_opening_a_session_there(
    walk: RunningServer, make: Callable[..., RemoteEnv]
) -> None:
    env = make(walk.base_url, reset_options={"limit": 3})
    assert env.start_server().base_url == env.start_server(anew=True).base_url == walk.base_url
    assert (env.session_id, env.reset_options) == (None, {"limit": 3})
    env.close()
    with pytest.raises(errors.ClientClosed):
        env.start_server()


def test_a_server_of_its_own_is_started_anew_when_it_is_given_up() -> None:
    env = RemoteEnv(path=PROJECTS / "guess", provider={"name": "process", "linger": 0})
    first = process_at(env.start_server().base_url)
    second = process_at(env.start_server(anew=True).base_url)
    assert first != second
    env.close()
    assert all_end([first, second])


def test_closing_twice_is_closing_once(walk: RunningServer) -> None:
    env = RemoteEnv(walk.base_url)
    env.close()
    env.close()
    other = RemoteEnv(walk.base_url)
    other.reset()
    other.close()
    other.close()
    with pytest.raises(errors.ClientClosed):
        other.step(0)


@pytest.mark.requirement("E9")
def test_a_forgotten_environment_frees_its_session() -> None:
    with running_server("tests.support.apps.bridge_walks:walk", env={"MAX_CONCURRENT_ENVS": "1"}) as server:
        for _ in range(3):
            env = RemoteEnv(server.base_url)
            env.reset()
            del env
            gc.collect()


@pytest.mark.parametrize(
    "name",
    [
        *("num_envs", "device", "reward_space", "compute_reward", "num_agents", "is_multiagent", "autoreset_mode"),
        *("seed", "env", "no_such_attribute"),
    ],
)
def test_it_has_no_attribute_that_trainers_take_for_something_else(walk: RunningServer, name: str) -> None:
    env = RemoteEnv(walk.base_url)
    assert not hasattr(env, name)
    env.close()


class Thunk:
    """Makes an environment; picklable, for processes that are spawned."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def __call__(self) -> RemoteEnv:
        return RemoteEnv(self.base_url)


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_processes_of_any_start_method_see_what_one_process_sees(walk: RunningServer, context: str) -> None:
    thunks = [Thunk(walk.base_url)] * 2
    before = RemoteEnv(walk.base_url)
    before.reset(seed=1)  # the I/O thread runs before the fork
    with warnings.catch_warnings():
        # Python 3.12 warns of forks in programs with threads; that this one is safe is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        several = AsyncVectorEnv(thunks, context=context)
    alone = SyncVectorEnv(thunks)
    try:
        assert data_equivalence(several.reset(seed=3), alone.reset(seed=3), exact=True)
        for number in range(15):
            actions = np.array([number % 2, 1])
            assert data_equivalence(several.step(actions), alone.step(actions), exact=True)
    finally:
        several.close()
        alone.close()
    assert before.step(1)[0] in before.observation_space, "the children must leave the parent's session alone"
    before.close()


@pytest.mark.requirement("S2")
def test_text_is_right_under_shared_memory(texts: RunningServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        env = AsyncVectorEnv([Thunk(texts.base_url)] * 2)
    try:
        env.reset()
        first, *_ = env.step(("ä b", "日本"))
        second, *_ = env.step(("x", ""))
        assert first["text"] == ("1: ä b", "1: 日本")
        assert second["text"] == ("2: x", "2: ")
        assert [(int(branch), int(value[0])) for branch, value in first["words"]] == [(0, 2), (0, 1)]
    finally:
        env.close()


def test_an_environment_that_was_forked_leaves_its_session_to_the_parent(walk: RunningServer) -> None:
    import multiprocessing

    env = RemoteEnv(walk.base_url)
    env.reset(seed=1)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def child() -> None:
        try:
            env.step(0)
        except errors.SessionLost:
            results.put("lost")
        results.put(bool(env.reset(seed=1)))
        env.close()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=child)
        process.start()
    process.join(30)
    assert process.exitcode == 0
    assert results.get() == "lost"
    assert results.get() is True
    assert env.step(0)[0] in env.observation_space
    env.close()


def test_an_environment_that_met_an_error_and_was_not_closed_is_forgotten(wire: Wire) -> None:
    def use() -> weakref.ref[RemoteEnv]:
        with running_server("tests.support.apps.misbehaving:app") as server:
            env = RemoteEnv(server.base_url, wire=wire)
            env.reset()
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises(errors.OpenEnvGymError):
                env.step(env.action_space.sample())
        return weakref.ref(env)

    forgotten = use()
    gc.collect()
    assert forgotten() is None
