"""The environment by itself, without a server; all of it needs dm_control, and pictures need EGL."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dm_control.rl")  # not the suite, which loads whatever draws

import yaml
from dm_control_env.graphics import choose_backend
from dm_control_env.models import DmControlObservation
from dm_control_env.serving import Served, served
from dm_control_env.settings import Settings
from dm_control_env.simulation import suite
from openenv_gym_protocol.errors import ConfigurationError
from pydantic import ValidationError

TASKS = [(domain, task) for domain, tasks in sorted(suite()[0].TASKS_BY_DOMAIN.items()) for task in tasks]

needs_pictures = pytest.mark.skipif(not choose_backend(), reason="there is nothing to draw with")


def serving(domain: str = "cartpole", task: str = "balance", **settings: Any) -> Served:
    return served(Settings(domain=domain, task=task, **settings))


def actions_of(what: Served, count: int) -> list[list[float]]:
    """Random actions inside of the bounds, the same at every call. lqr's bounds are wider than its physics bears."""
    kind = what.environment_class
    low, high = np.maximum(kind.low, -10), np.minimum(kind.high, 10)
    rows: list[list[float]] = np.random.default_rng(3).uniform(low, high, (count, len(low))).tolist()
    return rows


def plays(environment: Any, what: Served, seed: int | None, steps: int = 20) -> list[DmControlObservation]:
    seen = [environment.reset(seed)]
    for values in actions_of(what, steps):
        if seen[-1].done:
            break
        seen.append(environment.step(what.action_class(values=values)))
    return seen


def told(seen: list[DmControlObservation]) -> list[str]:
    return [each.model_dump_json() for each in seen]


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_every_task_starts_and_takes_random_actions_inside_of_its_spaces(domain: str, task: str) -> None:
    what = serving(domain, task)
    spaces: Any = what.environment_class.spaces
    environment = what.environment_class()
    size = spaces["observation"]["shape"][0]
    assert spaces["action"]["shape"] == [len(what.environment_class.low)]
    played = plays(environment, what, 1)
    for seen in played:
        vector = np.array(seen.vector)
        assert vector.shape == (size,)
        assert np.isfinite(vector).all()
        assert set(seen.metadata) == {"discount", "time"}
    rewards = [seen.reward for seen in played[1:]]
    assert len(rewards) == 20 or played[-1].done
    if domain != "lqr":
        assert all(reward is not None and 0 <= reward <= 1 for reward in rewards)
    environment.close()


@pytest.mark.parametrize(("domain", "task"), [("cartpole", "balance"), ("lqr", "lqr_2_1"), ("point_mass", "hard")])
def test_a_seed_gives_dm_controls_own_episode_whatever_was_played_before(domain: str, task: str) -> None:
    what = serving(domain, task)
    environment = what.environment_class()
    plays(environment, what, 5)
    found = plays(environment, what, 11)
    theirs = suite()[0].load(domain, task, task_kwargs={"random": 11})
    expected = [theirs.reset()] + [theirs.step(np.array(values)) for values in actions_of(what, 20)]
    for seen, stepped in zip(found, expected, strict=True):
        for name, value in stepped.observation.items():
            np.testing.assert_array_equal(seen.observations[name], np.ravel(value))
        assert seen.reward == stepped.reward
    again = [told(plays(environment, what, None)) for _ in range(2)]
    other = what.environment_class()
    plays(other, what, 11)
    assert [told(plays(other, what, None)) for _ in range(2)] == again, "unseeded resets go on from the seed"
    assert again[0] != again[1]


def test_large_seeds_differ_and_count() -> None:
    environment = serving().environment_class()
    starts = [environment.reset(seed).vector for seed in (7, 2**32 + 7, 2**63, 2**63)]
    assert starts[2] == starts[3]
    assert len({tuple(start or ()) for start in starts}) == 3


def test_a_time_limit_cuts_off_and_what_follows_needs_a_reset() -> None:
    what = serving(frame_skip=100)
    environment = what.environment_class()
    environment.reset(0)
    steps = [environment.step_values(np.zeros(1)) for _ in range(10)]
    assert [step[2:4] for step in steps] == [(False, False)] * 9 + [(False, True)]
    assert steps[-1][4]["discount"] == 1.0
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step_values(np.zeros(1))
    environment.reset()
    seen = [environment.step(what.action_class(values=[0.0])) for _ in range(10)][-1]
    assert (seen.done, seen.metadata["truncated"]) == (True, True)


def test_a_last_discount_of_zero_terminates() -> None:
    what = serving("lqr", "lqr_2_1")
    environment: Any = what.environment_class()
    environment.reset(1)
    assert environment.step_values(np.zeros(1))[2:4] == (False, False)
    with environment._simulation._env.physics.reset_context() as physics:
        physics.data.qpos[:] = 0  # at rest, which is where lqr's episodes end
    *_, terminated, truncated, info = environment.step_values(np.zeros(1))
    assert (terminated, truncated, info["discount"]) == (True, False, 0.0)
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step_values(np.zeros(1))


def test_a_frame_skip_sums_the_rewards_of_its_steps() -> None:
    one, three = serving(), serving(frame_skip=3)
    alone, held = one.environment_class(), three.environment_class()
    alone.reset(4)
    held.reset(4)
    action = np.array([0.5])
    steps = [alone.step_values(action) for _ in range(3)]
    value, reward, *_ = held.step_values(action)
    assert reward == sum(float(step[1] or 0) for step in steps)
    np.testing.assert_array_equal(value, steps[-1][0])
    assert held.state.step_count == 1


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([1.5], r"values\[0\]=1.5 is outside"),
        ([float("nan")], r"values\[0\]=nan"),
        ([], "at least 1"),
        ([0, 0], "at most 1"),
    ],
)
def test_a_wrong_action_is_refused_and_the_episode_goes_on(values: list[float], why: str) -> None:
    what = serving()
    environment = what.environment_class()
    environment.reset(1)
    with pytest.raises(ValidationError, match=why):
        what.action_class(values=values)
    with pytest.raises(ValueError, match="values"):
        environment.step_values(np.array(values))
    assert environment.state.step_count == 0
    environment.step_values(np.array([1.0]))
    assert environment.state.step_count == 1


@pytest.mark.parametrize(
    "observation",
    ["flat", "dict", pytest.param("pixels", marks=needs_pictures), pytest.param("both", marks=needs_pictures)],
)
def test_a_step_of_values_is_the_step_of_models_inside_of_the_spaces(observation: Any) -> None:
    from gymnasium import spaces
    from openenv_gym_protocol.gymnasium_spaces import data_to_space

    what = serving("finger", "turn_easy", observation=observation, pixel_size=32)
    declared: Any = what.environment_class.spaces
    space = data_to_space(declared["observation"])
    one, other = what.environment_class(), what.environment_class()
    one.reset(2)
    other.reset(2)
    for values in actions_of(what, 3):
        value, reward, *_, info = one.step_values(np.array(values))
        seen: Any = other.step(what.action_class(values=values))
        assert value in space
        assert (reward, info) == (seen.reward, seen.metadata)
        parts = value if isinstance(space, spaces.Dict) else {"alone": value}
        model = {"flat": {"alone": "vector"}, "pixels": {"alone": "pixels"}}.get(
            observation, {name: name for name in parts}
        )
        for name, part in parts.items():
            found = seen.observations[name] if observation == "dict" else getattr(seen, model[name])
            np.testing.assert_array_equal(part, np.asarray(found))
    for environment in (one, other):
        environment.close()


@needs_pictures
def test_two_sessions_draw_at_once_and_see_what_each_sees_alone() -> None:
    what = serving("reacher", "easy", observation="pixels", pixel_size=48)

    def drawn(seed: int) -> list[Any]:
        environment = what.environment_class()
        seen = [environment.reset(seed).pixels, *(environment.step_values(np.array(v))[0] for v in actions_of(what, 4))]
        seen.append(environment.render())
        environment.close()
        return seen

    expected = [drawn(seed) for seed in (1, 2)]
    found: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda seed=seed: found.update({seed: drawn(seed)})) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for seed, pictures in zip((1, 2), expected, strict=True):
        for one, other in zip(pictures, found[seed], strict=True):
            np.testing.assert_array_equal(one, other)
    assert expected[0][-1].shape == (480, 640, 3)
    assert not np.array_equal(expected[0][0], expected[1][0])


@needs_pictures
def test_another_camera_sees_something_else() -> None:
    pictures = []
    for camera in (0, "lookatcart", -1):
        environment = serving(camera=camera).environment_class()
        environment.reset(1)
        pictures.append(environment.render("rgb_array"))
        environment.close()
    assert len({picture.tobytes() for picture in pictures}) == 3
    with pytest.raises(ValueError, match="rgb_array"):
        environment.render("ansi")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"domain": "cartpol"}, "'cartpole'"),
        ({"domain": "walker", "task": "balance"}, "It has run, stand, walk"),
        ({"camera": "sied"}, "0: fixed, 1: lookatcart, and -1"),
        ({"camera": 7}, "DM_CONTROL_CAMERA"),
    ],
)
def test_what_there_is_not_names_what_there_is(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        serving(**settings)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"DM_CONTROL_OBSERVATION": "pixel"}, "'pixels'"),
        ({"DM_CONTROL_PIXEL_SIZE": "8"}, "from 16 to 480"),
        ({"DM_CONTROL_FRAME_SKIP": "0"}, "from 1 to 100"),
        ({"DM_CONTROL_FRAME_SKIP": "two"}, "DM_CONTROL_FRAME_SKIP='two'"),
    ],
)
def test_a_setting_that_cannot_be_names_its_variable(environ: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        Settings.from_environ(environ)


def test_texts_are_read_with_and_without_quotes() -> None:
    quoted = {"DM_CONTROL_DOMAIN": '"walker"', "DM_CONTROL_TASK": "walk", "DM_CONTROL_CAMERA": '"back"'}
    assert Settings.from_environ(quoted) == Settings(domain="walker", task="walk", camera="back")
    assert Settings.from_environ({"DM_CONTROL_CAMERA": "-1"}).camera == -1


def test_without_graphics_pictures_alone_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dm_control_env.simulation.suite", lambda: (suite()[0], False))
    environment = serving().environment_class()
    environment.reset(1)
    with pytest.raises(RuntimeError, match="apt-get install libegl1"):
        environment.render()
    environment.step_values(np.zeros(1))
    for settings in ({"observation": "pixels"}, {"domain": "quadruped", "task": "escape"}):
        with pytest.raises(ConfigurationError, match="apt-get install libegl1"):
            serving(**settings)


def test_the_manifest_says_what_each_variants_server_says() -> None:
    manifest = yaml.safe_load((Path(__file__).parents[1] / "openenv.yaml").read_text(encoding="utf-8"))
    block = manifest["x-openenv-gym"]
    assert len(block["variants"]) == 8
    for declared in (block, *block["variants"].values()):
        kind = served(Settings.from_environ(declared.get("settings", {}))).environment_class
        assert declared["spaces"] == kind.spaces
        assert (declared["info_keys"], declared["render_modes"]) == (kind.info_keys, list(kind.render_modes))
        assert declared["render_fps"] == kind.render_fps
