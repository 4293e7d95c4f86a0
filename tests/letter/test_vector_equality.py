"""A vector environment is, lane by lane and to the dtype, Gymnasium's own over the same environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from tests.letter.comparing import NEWEST, identical, identical_steps
from tests.letter.requirements import requirement
from tests.support import drawn as local
from tests.support.apps.bridge_faults import COMMANDS
from tests.support.servers import RunningServer

MakeMany = Callable[..., RemoteVectorEnv]
LANES = 4


@contextmanager
def here(space: str, mode: AutoresetMode = AutoresetMode.NEXT_STEP, lanes: int = LANES) -> Iterator[SyncVectorEnv]:
    """Gymnasium's vector of the same environments, in this process."""
    envs = SyncVectorEnv([lambda: local.Drawn(space)] * lanes, autoreset_mode=mode)
    yield envs
    envs.close()


def actions_of(envs: Any, generator: np.random.Generator) -> Any:
    single = envs.single_action_space
    return local.batched(single, [local.draw(single, generator) for _ in range(envs.num_envs)])


@requirement("V2", "vector/spaces", "vector/final")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("space", local.SPACES)
def test_every_step_is_that_of_gymnasiums_own(
    space: str, mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/{space}", num_envs=LANES, autoreset_mode=mode)
    with here(space, mode) as expected:
        assert envs.single_observation_space == expected.single_observation_space
        assert envs.observation_space == expected.observation_space
        assert envs.action_space == expected.action_space
        generator, ended = np.random.default_rng(3), 0
        assert identical_steps(envs.reset(seed=20), expected.reset(seed=20))
        for _ in range(14):
            actions = actions_of(expected, generator)
            ours, theirs = envs.step(actions), expected.step(actions)
            assert identical_steps(ours, theirs), (ours, theirs)
            over = ours[2] | ours[3]
            ended += int(over.sum())
            if mode is AutoresetMode.DISABLED and over.any():
                begun = [each.reset(options={"reset_mask": over.copy()}) for each in (envs, expected)]
                assert identical_steps(*begun)
        assert ended > LANES
        assert identical_steps(envs.reset(), expected.reset())


@requirement("vector/final")
def test_final_observations_come_only_where_an_episode_ended(drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/dict", num_envs=LANES, autoreset_mode="SameStep")
    envs.reset(seed=1)
    seen = 0
    for _ in range(12):
        _, _, terminations, truncations, infos = envs.step(actions_of(envs, np.random.default_rng(1)))
        over = terminations | truncations
        seen += int(over.any())
        assert ("final_obs" in infos) == ("final_info" in infos) == over.any()
        if over.any():
            assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == over.tolist()
            assert [value in envs.single_observation_space for value in infos["final_obs"]] == over.tolist()
            assert infos["final_info"]["steps"][over].min() >= 2
            assert infos["steps"][over].max() == 0
    assert seen > 2


@requirement("V2")
def test_with_the_next_step_the_action_of_a_finished_lane_is_ignored(drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    envs.reset(seed=1)
    over, resets = np.zeros(LANES, np.bool_), 0
    for _ in range(15):
        _, rewards, terminations, truncations, infos = envs.step(np.full(LANES, 3))
        assert rewards[over].tolist() == [0.0] * int(over.sum())
        assert not (terminations | truncations)[over].any()
        assert infos["steps"][over].tolist() == [0] * int(over.sum())
        resets += int(over.sum())
        over = terminations | truncations
    assert resets > LANES


@requirement("V2")
def test_without_autoreset_a_finished_lane_must_be_reset(drawn: RunningServer, make_many: MakeMany) -> None:
    mode = AutoresetMode.DISABLED
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES, autoreset_mode=mode)
    with here("discrete", mode) as expected:
        for each in (envs, expected):
            each.reset(seed=1)
            over = np.zeros(LANES, np.bool_)
            while not over.any():
                _, _, terminations, truncations, _ = each.step(np.zeros(LANES, np.int64))
                over = terminations | truncations
            with pytest.raises(AssertionError):
                each.step(np.zeros(LANES, np.int64))
            each.reset(options={"reset_mask": over})
            each.step(np.zeros(LANES, np.int64))


@requirement("vector/seeds")
@pytest.mark.parametrize("seed", [7, [3, 1, 4, 1], [5, 5, 5, 5], (2, 7, 1, 8), None])
def test_seeds_reach_the_lanes_as_in_gymnasiums_own(seed: Any, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    with here("discrete") as expected:
        assert identical_steps(envs.reset(seed=1), expected.reset(seed=1))
        assert identical_steps(envs.reset(seed=seed), expected.reset(seed=seed))
        assert envs.np_random_seed == expected.np_random_seed
        for _ in range(8):
            assert identical_steps(envs.step(np.ones(LANES, np.int64)), expected.step(np.ones(LANES, np.int64)))
        assert identical_steps(envs.reset(), expected.reset())


@requirement("vector/seeds")
def test_a_lane_without_a_seed_goes_on_with_its_own(drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    with here("discrete") as expected:
        for seed in ([1, 2, 3, 4], [None, 9, None, 8], [None] * 4):
            assert identical_steps(envs.reset(seed=seed), expected.reset(seed=seed))  # type: ignore[arg-type]
            assert envs.np_random_seed == expected.np_random_seed


@requirement("vector/seeds")
@pytest.mark.parametrize("seed", [np.int64(7), np.array([7, 8, 9, 10]), [np.int32(7), np.uint8(8), 9, 10]])
def test_numpys_integers_are_seeds(seed: Any, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    with here("discrete") as expected:
        assert identical_steps(envs.reset(seed=seed), expected.reset(seed=7))
    assert envs.np_random_seed == (7, 8, 9, 10)
    assert {type(each) for each in envs.np_random_seed} == {int}


@requirement("vector/seeds")
@pytest.mark.parametrize("seed", [[1, 2], [1, 2, 3, 4, 5]])
def test_another_number_of_seeds_is_gymnasiums_own_error(seed: Any, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    with here("discrete") as expected, pytest.raises((ValueError, AssertionError), match="seeds") as theirs:
        expected.reset(seed=seed)
    with pytest.raises(ValueError, match="seeds") as ours:
        envs.reset(seed=seed)
    assert str(ours.value) == str(theirs.value)


WRONG_MASKS = [
    [True, False, True, False],
    (True,) * 4,
    np.array([True, False]),
    np.ones((4, 1), np.bool_),
    np.array([1, 0, 1, 0]),
    np.array([1.0, 0, 1, 0]),
    np.zeros(4, np.bool_),
]


@requirement("V3", "vector/partial")
@pytest.mark.parametrize("mask", WRONG_MASKS, ids=[repr(mask).replace(" ", "") for mask in WRONG_MASKS])
def test_a_wrong_mask_is_refused_in_gymnasiums_words(mask: Any, drawn: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(f"{drawn.base_url}/discrete", num_envs=LANES)
    with here("discrete") as expected:
        for each in (envs, expected):
            each.reset(seed=1)
        with pytest.raises((TypeError, ValueError, AssertionError)) as theirs:
            expected.reset(options={"reset_mask": mask})
        with pytest.raises((TypeError, ValueError)) as ours:
            envs.reset(options={"reset_mask": mask})
        if NEWEST:
            assert type(ours.value) is type(theirs.value)
            assert str(ours.value) == str(theirs.value)
        actions = np.zeros(LANES, np.int64)
        assert identical_steps(envs.step(actions), expected.step(actions)), "a refusal changes nothing"


@requirement("V3", "vector/partial")
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_partial_reset_leaves_the_other_lanes_and_the_callers_options_as_they_are(
    mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/dict", num_envs=LANES, autoreset_mode=mode)
    with here("dict", mode) as expected:
        before, _ = envs.reset(seed=1)
        expected.reset(seed=1)
        for number, seed in enumerate((None, 30, [None, 5, 6, None])):
            mask = np.arange(LANES) % 2 == number % 2
            options = {"reset_mask": mask}
            ours = envs.reset(seed=seed, options=options)
            assert options == {"reset_mask": mask}
            assert options["reset_mask"] is mask
            assert identical_steps(ours, expected.reset(seed=seed, options={"reset_mask": mask}))
            assert identical(ours[0]["where"][~mask], before["where"][~mask])
            assert ours[1]["_steps"].tolist() == mask.tolist()
            actions = actions_of(expected, np.random.default_rng(number))
            after = envs.step(actions)
            assert identical_steps(after, expected.step(actions))
            before = after[0]


@requirement("V3")
def test_episode_statistics_of_running_lanes_survive_a_partial_reset(drawn: RunningServer, make_many: MakeMany) -> None:
    """Gymnasium's own vector environments take the mask away, and so lose what the wrapper had counted."""
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    envs = RecordEpisodeStatistics(
        make_many(f"{drawn.base_url}/discrete", num_envs=LANES, autoreset_mode=AutoresetMode.DISABLED)
    )
    envs.reset(seed=2)
    lengths = np.zeros(LANES, np.int64)
    for _ in range(12):
        _, _, terminations, truncations, infos = envs.step(np.zeros(LANES, np.int64))
        lengths += 1
        over = terminations | truncations
        if over.any():
            assert infos["episode"]["l"][over].tolist() == lengths[over].tolist()
            envs.reset(options={"reset_mask": over})
            lengths[over] = 0


@requirement("vector/infos")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("kind", ["walk", "stream"])
def test_infos_are_those_of_gymnasiums_own_with_ours_in_them(
    kind: str, mode: str, request: Any, make_many: MakeMany, wire: dict[str, Any]
) -> None:
    url = request.getfixturevalue(kind).base_url
    envs = make_many(url, num_envs=LANES, autoreset_mode=mode)
    expected = SyncVectorEnv([lambda: RemoteEnv(url, **wire)] * LANES, autoreset_mode=mode)
    try:
        assert identical(envs.reset(seed=20), expected.reset(seed=20))
        for number in range(25):
            actions = np.arange(LANES) * number % 2
            assert identical(envs.step(actions), expected.step(actions))
    finally:
        expected.close()


@requirement("vector/infos")
def test_a_key_that_one_lane_has_is_masked_for_the_others(faults: RunningServer, make_many: MakeMany) -> None:
    envs = make_many(faults.base_url, num_envs=2)
    envs.reset()
    commands = np.array([[COMMANDS.index("reserved")], [COMMANDS.index("fine")]])
    infos = envs.step({"command": commands, "value": np.zeros((2, 1), np.int64)})[4]
    assert infos["metadata.episode"].tolist() == [1, 0]
    assert infos["_metadata.episode"].tolist() == [True, False]
    assert infos["_mixed"].tolist() == [False, True]
    assert {mask.dtype for name, mask in infos.items() if name.startswith("_")} == {np.dtype(np.bool_)}


@requirement("V2", "V3", "vector/partial", "vector/seeds")
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("order", range(6))
def test_any_order_of_resets_and_steps_gives_what_gymnasiums_own_gives(
    order: int, mode: AutoresetMode, drawn: RunningServer, make_many: MakeMany
) -> None:
    envs = make_many(f"{drawn.base_url}/dict", num_envs=LANES, autoreset_mode=mode)
    chooses = np.random.default_rng(order)
    ours: Any
    theirs: Any
    over = np.zeros(LANES, np.bool_)
    with here("dict", mode) as expected:
        assert identical_steps(envs.reset(seed=order), expected.reset(seed=order))
        for _ in range(40):
            mask = chooses.random(LANES) < 0.4
            mask |= over & (mode is AutoresetMode.DISABLED)
            must_reset = mode is AutoresetMode.DISABLED and over.any()
            what = "some" if must_reset else chooses.choice(["step"] * 5 + ["some", "all"])
            if what == "step":
                actions = actions_of(expected, chooses)
                ours, theirs = envs.step(actions), expected.step(actions)
                over = ours[2] | ours[3]
            else:
                seed: Any = (None, 5)[chooses.integers(2)] if what == "all" else [None, 3, None, 4]
                options = {"reset_mask": mask} if what == "some" and mask.any() else {}
                ours = envs.reset(seed=seed, options=dict(options))
                theirs = expected.reset(seed=seed, options=dict(options))
                over = over & ~mask if options else np.zeros(LANES, np.bool_)
            assert identical_steps(ours, theirs), what
            assert envs.np_random_seed == expected.np_random_seed


@requirement("V3", "vector/partial")
def test_other_options_of_a_partial_reset_reach_the_lanes_that_are_reset(wire: dict[str, Any]) -> None:
    ours = gymnasium.make_vec("openenv/CartPole-v1", LANES, **wire)
    theirs = gymnasium.make_vec("CartPole-v1", LANES, vectorization_mode="sync")
    assert identical(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    mask = np.array([True, False, True, False])
    for narrow in ({"low": -0.2, "high": -0.1}, {}):
        found, expected = (envs.reset(options={"reset_mask": mask.copy(), **narrow}) for envs in (ours, theirs))
        assert identical(found[0], expected[0])
        assert found[1]["_seed_applied"].tolist() == mask.tolist()
    ours.close()
    theirs.close()
