from __future__ import annotations

import pickle
from typing import Any

import pytest
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption

from openenv_gym.transports.timeouts import Timeouts


def test_phases_that_are_not_given_keep_their_defaults() -> None:
    assert Timeouts.of({"step": 5}) == Timeouts(step=5)
    assert Timeouts.of(None) == Timeouts(start=300, connect=10, reset=120, step=60, state=60)


def test_time_outs_are_taken_as_they_are() -> None:
    given = Timeouts(reset=None)
    assert Timeouts.of(given) is given


def test_an_unknown_phase_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="Did you mean 'step'"):
        Timeouts.of({"setp": 5})


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5", True])
def test_a_time_out_is_a_positive_number(seconds: Any) -> None:
    with pytest.raises(ConfigurationError, match="'step'"):
        Timeouts(step=seconds)


def test_only_replies_may_be_waited_for_without_end() -> None:
    assert Timeouts(reset=None, step=None, state=None).step is None
    with pytest.raises(ConfigurationError, match="'connect'"):
        Timeouts.of({"connect": None})


def test_time_outs_travel_to_workers() -> None:
    assert pickle.loads(pickle.dumps(Timeouts(step=1))) == Timeouts(step=1)
