"""Every reset after a seeded one is determined, by the environment's own stream or by seeds of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openenv_gym_protocol.bodies import Seeding
from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.seeds import Seeds, lane_seeds


def sent(seeds: Seeds, seed: int | None, rng: np.random.Generator, *, new: bool = False) -> int | None:
    return seeds.next(seed, is_new_session=new, generator=lambda: rng)


def test_without_a_stream_every_reset_sends_a_seed_from_the_generator() -> None:
    drawn = []
    for _ in range(2):
        seeds, rng = Seeds(), np.random.default_rng(4)
        drawn.append([sent(seeds, 4, rng, new=True), sent(seeds, None, rng), sent(seeds, None, rng)])
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == 4
    assert len(set(drawn[0])) == 3
    assert all(type(seed) is int for seed in drawn[0])


def test_with_a_stream_only_the_callers_seeds_are_sent() -> None:
    seeds, rng = Seeds(), np.random.default_rng(4)
    seeds.seeding = Seeding(seeded_stream=True, seed_supported=True)
    assert [sent(seeds, 4, rng, new=True), sent(seeds, None, rng), sent(seeds, 5, rng)] == [4, None, 5]


def test_a_replaced_session_gets_a_seed_although_it_has_a_stream() -> None:
    seeds, rng = Seeds(), np.random.default_rng(4)
    seeds.seeding = Seeding(seeded_stream=True)
    assert sent(seeds, None, rng, new=True) is None, "nobody asked for determinism yet"
    sent(seeds, 4, rng)
    assert sent(seeds, None, rng, new=True) is not None


def test_an_environment_that_ignores_seeds_gets_the_callers_only() -> None:
    seeds, rng = Seeds(), np.random.default_rng(4)
    seeds.seeding = Seeding(seed_supported=False)
    assert sent(seeds, None, rng) is None
    assert sent(seeds, 3, rng) == 3
    assert seeds.applied == 0


@pytest.mark.parametrize(("supported", "applied"), [(True, 1), (False, 0), (None, -1)])
def test_whether_a_seed_was_applied_is_what_the_server_says(supported: bool | None, applied: int) -> None:
    seeds = Seeds()
    seeds.seeding = Seeding(seed_supported=supported)
    sent(seeds, 3, np.random.default_rng(0))
    assert seeds.applied == applied


def test_lane_seeds_count_up_from_one_integer() -> None:
    assert lane_seeds(np.int64(3), 3) == [3, 4, 5]
    assert lane_seeds(None, 2) == [None, None]
    assert lane_seeds((None, np.int32(2)), 2) == [None, 2]
    with pytest.raises(ValueError, match="num_envs=3"):
        lane_seeds([1], 3)
    with pytest.raises(ConfigurationError):
        lane_seeds(-1, 3)


@pytest.mark.parametrize(("supported", "applied"), [(True, 1), (False, 0), (None, -1)])
def test_what_the_server_says_of_the_running_episode_goes_before_what_was_sent(
    supported: bool | None, applied: int
) -> None:
    seeds = Seeds()
    seeds.seeding = Seeding(seed_supported=supported)
    sent(seeds, 3, np.random.default_rng(0))
    seeds.told(applied=False, unknown=False)
    assert seeds.applied == 0
    seeds.told(applied=True, unknown=False)
    assert seeds.applied == 1
    seeds.told(applied=False, unknown=True)
    assert seeds.applied == applied, "the catalogue may know what the server does not say"


@pytest.mark.parametrize("seed", ["7", b"7", "77"])
def test_a_text_is_no_seed_for_each_lane(seed: Any) -> None:
    with pytest.raises(ConfigurationError, match="must be an integer"):
        lane_seeds(seed, 2)


def test_a_seed_that_no_wire_carries_is_refused() -> None:
    assert lane_seeds(2**64 - 2, 2) == [2**64 - 2, 2**64 - 1]
    for seed in (2**64, 2**64 - 1, [0, 2**64]):
        with pytest.raises(ConfigurationError, match=r"2\*\*64"):
            lane_seeds(seed, 2)
