"""A reset's mask chooses lanes, and a wrong one is refused as Gymnasium refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from openenv_gym.bridge.masks import reset_mask


def test_without_a_mask_all_lanes_are_meant() -> None:
    assert reset_mask(None, 3) == ([0, 1, 2], {})
    assert reset_mask({"level": 2}, 2) == ([0, 1], {"level": 2})


def test_a_mask_chooses_lanes_and_is_no_option_of_the_environment() -> None:
    options = {"reset_mask": np.array([True, False, True]), "level": 2}
    assert reset_mask(options, 3) == ([0, 2], {"level": 2})
    assert set(options) == {"reset_mask", "level"}


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (np.array([1, 0]), TypeError),
        (np.array([True]), ValueError),
        (np.array([False, False]), ValueError),
    ],
)
def test_a_wrong_mask_is_refused(mask: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="reset_mask"):
        reset_mask({"reset_mask": mask}, 2)
