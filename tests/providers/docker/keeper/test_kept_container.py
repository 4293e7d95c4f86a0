from __future__ import annotations

import pytest

from openenv_gym.providers.docker.keeper.kept_container import size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1024**3, "1g"),
        (3 * 1024**3, "3g"),
        (1536 * 1024**2, "1536m"),
        (64 * 1024**2, "64m"),
        (5 * 1024, "5k"),
        (1025, "1025 bytes"),
        (0, "0 bytes"),
    ],
)
def test_a_size_is_said_as_the_option_has_it(size: int, text: str) -> None:
    assert size_text(size) == text
