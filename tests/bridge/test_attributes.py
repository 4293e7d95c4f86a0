"""What the environment allows is read, set, called and rendered over the vector wire; the rest is refused clearly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker
from openenv_gym_protocol import errors

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.env import RemoteEnv
from openenv_gym.bridge.vector import RemoteVectorEnv
from openenv_gym.bridge.wires import Wire
from tests.support.apps.bridge_walks import StreamWalk
from tests.support.servers import RunningServer, running_server

SPACES: dict[str, Any] = {
    "action_space": {"type": "Discrete", "n": 2},
    "observation_space": {"type": "Box", "low": 0, "high": 255, "shape": [1], "dtype": "float32"},
}
DECLARED = Declared(**SPACES, render_modes=("rgb_array", "ansi"), render_fps=12)

Make = Callable[..., RemoteVectorEnv]


@pytest.fixture(scope="module")
def pictured() -> Iterator[RunningServer]:
    with running_server("tests.support.apps.bridge_pictures:app") as server:
        yield server


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    with ExitStack() as stack:

        def make(*args: Any, kind: Any = RemoteVectorEnv, **kwargs: Any) -> Any:
            env = kind(*args, **kwargs)
            stack.callback(env.close)
            return env

        yield make


def test_attributes_are_read_set_and_called(pictured: RunningServer, make: Make) -> None:
    env = make(pictured.base_url, num_envs=3)
    env.set_attr("gravity", [1, 2, 3])  # before the first reset, as Gymnasium's own vectors take it
    assert env.get_attr("gravity") == (1, 2, 3)
    env.reset()
    assert env.call("weigh", 2.0, factor=10) == (20.0, 40.0, 60.0)
    env.set_attr("gravity", 4)
    assert env.call("gravity") == (4, 4, 4)
    shapes = env.get_attr("shape")
    assert [(array.dtype.name, array.tolist()) for array in shapes] == [("int16", [[0, 1, 2], [3, 4, 5]])] * 3


def test_what_is_not_allowed_is_refused_with_what_is(pictured: RunningServer, make: Make) -> None:
    env = make(pictured.base_url, num_envs=2)
    with pytest.raises(AttributeError, match="gravity"):
        env.get_attr("gravitas")
    with pytest.raises(AttributeError):
        env.get_attr("secret")
    with pytest.raises(AttributeError):
        env.set_attr("__class__", 1)
    with pytest.raises(ValueError, match="2 environments"):
        env.set_attr("gravity", [1, 2, 3])
    with pytest.raises(errors.ExecutionError) as raised:
        env.call("weigh", -1.0)
    assert raised.value.lane == 0
    standard = make(pictured.base_url, num_envs=2, wire="standard")
    standard.reset()
    with pytest.raises(AttributeError, match="standard wire"):
        standard.get_attr("gravity")


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_lanes_are_rendered_as_pixels_and_as_text(mode: str, pictured: RunningServer, make: Make) -> None:
    env = make(pictured.base_url, num_envs=2, render_mode=mode, declared=DECLARED, spaces="flat")
    assert env.metadata["render_modes"] == ["rgb_array", "ansi"]
    assert env.metadata["render_fps"] == 12
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset()
    env.step([1, 0])
    rendered = env.render()
    assert rendered is not None
    if mode == "ansi":
        assert rendered == ("level 1", "level 0")
    else:
        assert [(picture.dtype.name, picture.shape) for picture in rendered] == [("uint8", (4, 6, 3))] * 2
        assert [int(picture.max()) for picture in rendered] == [1, 0]
        rendered[0][:] = 7  # a caller may draw into it


def test_one_environment_renders_too(pictured: RunningServer, make: Make) -> None:
    env = make(pictured.base_url, kind=RemoteEnv, render_mode="rgb_array", declared=DECLARED, spaces="flat")
    env.reset()
    env.step(1)
    assert env.render().shape == (4, 6, 3)  # type: ignore[union-attr]
    assert env.render_mode == "rgb_array"


def test_a_made_environment_renders_through_gymnasiums_wrappers(pictured: RunningServer) -> None:
    gymnasium.register("bridge-tests/Pictured-v0", "openenv_gym.bridge.env:RemoteEnv")
    try:
        env = gymnasium.make(
            "bridge-tests/Pictured-v0",
            base_url=pictured.base_url,
            declared=DECLARED,
            spaces="flat",
            render_mode="rgb_array_list",
        )
        env.reset()
        env.step(1)
        frames: Any = env.render()
        assert [int(np.max(frame)) for frame in frames] == [0, 1]
        env.close()
    finally:
        gymnasium.registry.pop("bridge-tests/Pictured-v0")


@pytest.mark.parametrize("kind", [RemoteEnv, RemoteVectorEnv])
def test_a_mode_that_is_not_declared_is_a_type_error_before_anything_starts(kind: Any) -> None:
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(TypeError, match="rgb_array"):
        kind(nowhere, render_mode="rgb_array", declared=Declared(**SPACES))
    with pytest.raises(TypeError, match="human"):
        kind(nowhere, render_mode="human", declared=DECLARED)
    with pytest.raises(TypeError, match="vector wire"):
        kind(nowhere, render_mode="rgb_array", declared=DECLARED, wire="standard")


def test_a_server_that_renders_nothing_of_the_kind_says_so(stream: RunningServer, make: Make) -> None:
    spaces = {f"{side}_space": space for side, space in StreamWalk.spaces.items()}
    env = make(stream.base_url, num_envs=2, render_mode="ansi", declared=Declared(**spaces, render_modes=("ansi",)))
    with pytest.raises(errors.OpenEnvGymError, match="render mode"):
        env.reset()


def test_without_a_render_mode_nothing_is_rendered_and_a_warning_says_why(walk: RunningServer, make: Make) -> None:
    """As Gymnasium's own environments: a call of it must not end a training, or its workers."""
    env, many = make(walk.base_url, kind=RemoteEnv), make(walk.base_url, num_envs=2)
    for each, rendered in ((env, None), (many, (None, None))):
        each.reset(seed=1)
        with pytest.warns(UserWarning, match="render_mode"):
            assert each.render() == rendered
    with pytest.warns(UserWarning, match="render_mode"):
        assert many.call("render") == (None, None)


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_gymnasiums_own_vectors_reach_what_the_environment_allows(vector: Any, pictured: RunningServer) -> None:
    here = pictured.base_url
    env = vector([lambda: PassiveEnvChecker(RemoteEnv(here))] * 2)
    try:
        env.set_attr("gravity", [1.0, 2.0])  # before the first reset too
        env.reset(seed=1)
        assert env.get_attr("gravity") == (1.0, 2.0)
        env.set_attr("gravity", 3.0)
        assert env.get_attr("gravity") == (3.0, 3.0)
        assert env.call("weigh", 2.0, factor=10) == (60.0, 60.0)
    finally:
        env.close()


def test_one_environment_reads_sets_and_calls_through_its_wrappers(pictured: RunningServer, make: Make) -> None:
    remote: Any = make(pictured.base_url, kind=RemoteEnv)
    env: Any = OrderEnforcing(remote)
    assert env.set_wrapper_attr("gravity", 2.0) is True
    assert not hasattr(env, "gravity"), "it was set where it has an effect"
    assert env.get_wrapper_attr("gravity") == 2.0
    assert env.get_wrapper_attr("weigh")(3.0, factor=2.0) == 12.0
    assert env.get_wrapper_attr("render_mode") is None, "what is known here is asked nowhere else"
    assert remote.set_wrapper_attr("render_mode", "ansi")
    assert remote.render_mode == "ansi"
    assert env.has_wrapper_attr("gravity")
    assert env.has_wrapper_attr("schema")
    assert not env.has_wrapper_attr("gravitas")


@pytest.mark.parametrize("name", ["gravitas", "secret", "_state"])
def test_what_is_no_attribute_is_neither_read_nor_set_in_silence(
    name: str, pictured: RunningServer, wire: Wire
) -> None:
    env: Any = OrderEnforcing(RemoteEnv(pictured.base_url, wire=wire))
    try:
        with pytest.raises(AttributeError, match=name):
            env.set_wrapper_attr(name, 1)
        with pytest.raises(AttributeError, match=name):
            env.get_wrapper_attr(name)
        assert not hasattr(env, name)
        assert not env.has_wrapper_attr(name)
    finally:
        env.close()


def test_a_lanes_spaces_and_metadata_are_those_of_one_environment(pictured: RunningServer, make: Make) -> None:
    env = make(pictured.base_url, num_envs=2, declared=DECLARED, spaces="flat")
    local = SyncVectorEnv([lambda: RemoteEnv(pictured.base_url, declared=DECLARED, spaces="flat")] * 2)
    try:
        for name in ("action_space", "observation_space", "metadata"):
            assert env.get_attr(name) == local.get_attr(name)
    finally:
        local.close()
