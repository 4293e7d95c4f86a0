"""The pages for trainers: their programs run as they stand, and print what stands below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.trainers import TRAINERS, python_or_skip, run_with

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def program_and_output(trainer: str) -> tuple[str, str]:
    """The Python block of a trainer's page, and what the page says that it prints."""
    page = (PAGES / f"{trainer}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert [language for language, _ in blocks] == ["python", "text"]
    return blocks[0][1], blocks[1][1]


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_has_a_page_with_a_program(trainer: str) -> None:
    program, _ = program_and_output(trainer)
    compile(program, f"{trainer}.md", "exec")


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    for link in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.trainers
@pytest.mark.timeout(900)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_program_of_a_page_prints_what_stands_below_it(trainer: str) -> None:
    python_or_skip(trainer)
    program, output = program_and_output(trainer)
    assert run_with(trainer, "-c", program, timeout=600) == output
