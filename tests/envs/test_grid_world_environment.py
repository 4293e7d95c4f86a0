"""The rules of the grid world, without a server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grid_world_env.environment import GridWorldEnvironment, environment_of, spaces_of
from grid_world_env.models import GridWorldAction, GridWorldPictureObservation
from grid_world_env.settings import Settings
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_registry.catalogue import lookup
from openenv_gym_server.traits import read_traits
from pydantic import ValidationError

RIGHT, UP, LEFT, DOWN = (GridWorldAction(direction=direction) for direction in range(4))


def walk(environment: GridWorldEnvironment, seed: int | None, **options: Any) -> list[Any]:
    """Plays some episodes, the first of them seeded, with moves that depend on the seed alone."""
    chooses = np.random.default_rng(seed)
    seen = []
    for episode in range(5):
        seen.append(environment.reset(seed if episode == 0 else None, None, **options))
        while not seen[-1].done and len(seen) < 500:
            seen.append(environment.step(GridWorldAction(direction=int(chooses.integers(4)))))
    return seen


def test_a_seed_fixes_its_episode_and_all_that_follow() -> None:
    for options in ({}, {"slip": 0.5}):
        assert walk(GridWorldEnvironment(), 3, **options) == walk(GridWorldEnvironment(), 3, **options)
    assert walk(GridWorldEnvironment(), 3) != walk(GridWorldEnvironment(), 4)
    assert walk(GridWorldEnvironment(), 3) != walk(GridWorldEnvironment(), 3, slip=0.5)


def test_an_environment_never_seeded_differs_from_the_next() -> None:
    def places() -> list[Any]:
        environment = GridWorldEnvironment()
        return [environment.reset().agent for _ in range(20)]

    assert places() != places()


def test_the_two_start_apart_everywhere() -> None:
    environment = GridWorldEnvironment()
    starts = [environment.reset(seed) for seed in range(400)]
    assert all(start.agent != start.target and not start.done and start.reward is None for start in starts)
    cells = {(column, row) for column in range(5) for row in range(5)}
    assert {start.agent for start in starts} == {start.target for start in starts} == cells


def test_moves_go_where_they_say_and_stay_inside() -> None:
    environment = GridWorldEnvironment()
    for move, axis, step in ((RIGHT, 0, 1), (UP, 1, -1), (LEFT, 0, -1), (DOWN, 1, 1)):
        for seed in range(50):
            before = environment.reset(seed).agent
            after = environment.step(move).agent
            assert after[1 - axis] == before[1 - axis]
            assert after[axis] == min(max(before[axis] + step, 0), 4)


def test_the_target_pays_one_and_ends_the_episode() -> None:
    environment = GridWorldEnvironment()
    seen = environment.reset(8)
    while not seen.done:
        assert seen.reward in (None, 0.0)
        column, row = seen.target[0] - seen.agent[0], seen.target[1] - seen.agent[1]
        assert seen.metadata["distance"] == abs(column) + abs(row)
        seen = environment.step((RIGHT if column > 0 else LEFT) if column else (DOWN if row > 0 else UP))
    assert (seen.agent, seen.reward, seen.metadata["distance"]) == (seen.target, 1.0, 0)
    with pytest.raises(RuntimeError, match="reset first"):
        environment.step(UP)


def test_slipping_goes_astray_as_often_as_it_says() -> None:
    environment = environment_of(64, has_picture=False)()
    strays = 0
    for seed in range(400):
        before = environment.reset(seed, None, slip=0.8).agent
        strays += environment.step(RIGHT).agent[0] <= before[0] and before[0] < 63
    assert 200 < strays < 280, "three of four random directions are astray: 0.6 of 400 moves"


def test_a_step_before_a_reset_is_refused() -> None:
    with pytest.raises(RuntimeError, match="reset first"):
        GridWorldEnvironment().step(UP)


@pytest.mark.parametrize("direction", [-1, 4, "up", None, 0.5])
def test_a_move_in_no_direction_is_refused(direction: Any) -> None:
    with pytest.raises(ValidationError):
        GridWorldAction(direction=direction)


@pytest.mark.parametrize(("size", "image"), [(5, False), (2, True), (7, True)])
def test_observations_are_in_the_declared_space(size: int, image: bool) -> None:
    environment = environment_of(size, has_picture=image)()
    assert environment.spaces == spaces_of(size, has_picture=image)
    space: Any = data_to_space(environment.spaces["observation"])
    for seen in walk(environment, 1):
        value = {"agent": np.array(seen.agent), "target": np.array(seen.target)}
        assert {**value, "image": seen.image} in space if image else value in space


def test_a_picture_travels_as_it_is_and_moves_with_the_walker() -> None:
    environment = environment_of(5, has_picture=True)()
    first = environment.reset(1)
    assert isinstance(first, GridWorldPictureObservation)
    again = GridWorldPictureObservation.model_validate_json(first.model_dump_json())
    np.testing.assert_array_equal(again.image, first.image)
    second = environment.step(LEFT if first.agent[0] else RIGHT)
    assert isinstance(second, GridWorldPictureObservation)
    assert (second.image != first.image).any()
    for wrong in ("!", "AAAA", "AAAAAAAA"):
        if wrong != "AAAA":  # one pixel is a square
            with pytest.raises(ValidationError):
                GridWorldPictureObservation(agent=(0, 0), target=(1, 1), image=wrong)


def test_it_is_drawn_as_a_picture_and_as_text() -> None:
    environment = GridWorldEnvironment()
    seen = environment.reset(2)
    picture = environment.render()
    assert (picture.shape, picture.dtype) == ((320, 320, 3), np.uint8)
    middles = picture[32::64, 32::64]
    blue = {(int(column), int(row)) for row, column in np.argwhere(middles[..., 2] > middles[..., 0])}
    assert blue == {seen.agent}
    rows = environment.render("ansi").splitlines()
    assert rows[seen.agent[1]][seen.agent[0]] == "A"
    assert rows[seen.target[1]][seen.target[0]] == "T"
    assert "".join(rows).count(".") == 23
    with pytest.raises(ValueError, match="ansi"):
        environment.render("human")


def test_the_state_shows_the_grid() -> None:
    environment = GridWorldEnvironment()
    assert (environment.state.agent, environment.state.size) == (None, 5)
    seen = environment.reset(1, "mine", slip=0.25)
    environment.step(UP)
    state = environment.state
    assert (state.episode_id, state.step_count, state.slip, state.target) == ("mine", 1, 0.25, seen.target)


def test_its_size_can_be_read_and_its_slip_set_to_a_chance() -> None:
    traits = read_traits(GridWorldEnvironment)
    assert (traits.remote_names, traits.settable_names) == (("size", "slip"), ("slip",))
    environment = GridWorldEnvironment()
    environment.slip = 1
    assert environment.slip == 1.0
    for wrong in (1.5, -0.1, float("nan"), True, "0.5", None):
        with pytest.raises(ValueError, match="slip"):
            environment.slip = wrong  # type: ignore[assignment]
    assert environment.slip == 1.0


def test_the_catalogue_knows_its_pictures() -> None:
    entry = lookup("grid_world")
    assert entry.render_modes == tuple(GridWorldEnvironment.render_modes)
    assert entry.render_fps == GridWorldEnvironment.render_fps


def test_settings_are_read_and_checked() -> None:
    assert Settings.from_environ({}) == Settings(size=5, picture=False)
    assert Settings.from_environ({"GRID_WORLD_SIZE": "8", "GRID_WORLD_PICTURE": "TRUE"}) == Settings(
        size=8, picture=True
    )
    for name, value in (("SIZE", "1"), ("SIZE", "65"), ("SIZE", "big"), ("PICTURE", "yes")):
        with pytest.raises(ConfigurationError, match=f"GRID_WORLD_{name}"):
            Settings.from_environ({f"GRID_WORLD_{name}": value})
