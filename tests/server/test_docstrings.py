"""Google docstrings become descriptions of tools and of their parameters."""

from __future__ import annotations

import inspect

import pytest
from openenv_gym_server.docstrings import read_docstring

FULL = """Moves a piece.

    The board is
    read first.

    Args:
        piece: Which piece,
            by its letter.
        to (str): Where to: a square.

        *more: Others.

    Returns:
        note: not a parameter.
    """


def test_the_text_before_the_sections_is_the_description() -> None:
    description, _ = read_docstring(inspect.cleandoc(FULL))
    assert description == "Moves a piece.\n\nThe board is\nread first."


def test_parameters_are_described_over_several_lines_and_with_their_types_left_out() -> None:
    _, parameters = read_docstring(inspect.cleandoc(FULL))
    assert parameters == {"piece": "Which piece,\nby its letter.", "to": "Where to: a square.", "more": "Others."}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One line.",
        "Args: is no section here",
        "Says.\n\nArgs:\n\nNothing follows.",
        "Says.\n\nReturns:\n    A thing.",
    ],
)
def test_without_described_parameters_the_docstring_is_the_description(text: str) -> None:
    assert read_docstring(text) == (text, {})
