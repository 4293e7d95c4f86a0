"""Pictures of the lanes, and their attributes, as Gymnasium's own vector environments give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import vector as vector_wrappers

from tests.letter.comparing import identical
from tests.letter.requirements import requirement

ID = "openenv/CartPole-v1"


@pytest.fixture(autouse=True)
def _without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def pictured(wire: dict[str, Any]) -> dict[str, Any]:
    """The keywords of an environment that renders; on the standard wire there is none."""
    pytest.importorskip("pygame")
    keywords = {"render_mode": "rgb_array", **wire}
    if wire.get("wire") == "standard":
        for make in (gymnasium.make, gymnasium.make_vec):
            with pytest.raises(TypeError, match="rgb_array"):
                make(ID, **keywords)
        pytest.skip("the standard wire carries no pictures, and said so")
    return keywords


@requirement("render")
def test_a_picture_is_gymnasiums_own(pictured: dict[str, Any]) -> None:
    ours, theirs = gymnasium.make(ID, **pictured), gymnasium.make("CartPole-v1", render_mode="rgb_array")
    assert ours.render_mode == "rgb_array"
    for env in (ours, theirs):
        env.reset(seed=1)
    for _ in range(3):
        assert identical(ours.render(), theirs.render())
        ours.step(1)
        theirs.step(1)
    ours.close()
    theirs.close()


@requirement("render")
def test_every_lane_has_its_picture(pictured: dict[str, Any]) -> None:
    ours: Any = gymnasium.make_vec(ID, 3, **pictured)
    theirs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync", render_mode="rgb_array")
    assert ours.render_mode == "rgb_array"
    for envs in (ours, theirs):
        envs.reset(seed=1)
        envs.step(np.array([0, 1, 0]))
    found = ours.render()
    assert isinstance(found, tuple)
    assert identical(found, tuple(theirs.render() or ()))
    assert identical(ours.call("render"), found), "as skrl asks for pictures"
    ours.close()
    theirs.close()


@requirement("render", "E2")
def test_a_text_picture_is_gymnasiums_own(wire: dict[str, Any]) -> None:
    if wire.get("wire") == "standard":
        pytest.skip("the standard wire carries no pictures")
    ours = gymnasium.make("openenv/FrozenLake-v1", render_mode="ansi", **wire)
    theirs = gymnasium.make("FrozenLake-v1", render_mode="ansi")
    for env in (ours, theirs):
        env.reset(seed=1)
    assert ours.render() == theirs.render()
    ours.close()
    theirs.close()


@requirement("render", "wrappers/single")
def test_pictures_are_collected(pictured: dict[str, Any]) -> None:
    env: Any = wrappers.RenderCollection(gymnasium.make(ID, **pictured))
    env.reset(seed=1)
    env.step(1)
    assert [picture.shape for picture in env.render()] == [(400, 600, 3)] * 2
    env.close()


@requirement("wrappers/video")
def test_a_video_is_recorded(pictured: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("moviepy")
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    env: Any = wrappers.RecordVideo(gymnasium.make(ID, **pictured), one, episode_trigger=lambda _: True)
    envs: Any = vector_wrappers.RecordVideo(
        gymnasium.make_vec(ID, 2, **pictured), two, step_trigger=lambda step: step == 0, video_length=3
    )
    env.reset(seed=1)
    envs.reset(seed=1)
    for _ in range(4):
        env.step(1)
        envs.step(np.array([0, 1]))
    env.close()
    envs.close()
    assert [path.suffix for folder in (one, two) for path in Path(folder).iterdir()] == [".mp4"] * 2


@requirement("vector/calls")
def test_attributes_are_read_and_set_in_every_lane_as_in_gymnasiums_own(wire: dict[str, Any]) -> None:
    ours: Any = gymnasium.make_vec(ID, 3, **wire)
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 3)
    if wire.get("wire") == "standard":
        ours.reset(seed=1)
        with pytest.raises(AttributeError, match="gravity"):
            ours.get_attr("gravity")
        with pytest.raises(AttributeError, match="gravity"):
            ours.set_attr("gravity", 1.0)
    else:
        same_attributes(ours, theirs)
    ours.close()
    theirs.close()


def same_attributes(ours: Any, theirs: Any) -> None:
    for envs in (ours, theirs):
        envs.reset(seed=1)
    assert ours.get_attr("gravity") == ours.call("gravity") == theirs.get_attr("gravity")
    for values in (1.0, [1.0, 2.0, 3.0], (4.0, 5.0, 6.0)):
        for envs in (ours, theirs):
            envs.set_attr("gravity", values)
        assert ours.get_attr("gravity") == theirs.get_attr("gravity")
        actions = np.array([0, 1, 0])
        assert identical(ours.step(actions)[:4], theirs.step(actions)[:4]), "the lanes have what was set"
    for envs in (ours, theirs):
        with pytest.raises(ValueError, match="values"):
            envs.set_attr("gravity", [1.0, 2.0])
