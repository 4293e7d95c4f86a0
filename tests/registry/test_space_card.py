from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.space_card import check_card

from tests.support.servers import ROOT


def card(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "", "# Title"])


GOOD = ("title: x", "sdk: docker", "app_port: 8000", "tags:", "  - openenv")


def test_a_good_card_and_those_of_our_projects_are_taken() -> None:
    check_card(card(*GOOD), 8000)
    for readme in (ROOT / "envs").glob("*/README.md"):
        check_card(readme.read_text(encoding="utf-8"), 8000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "has no README.md"),
        ("# Title\n", "no front matter"),
        ("---\ntitle: x\n", "no front matter"),
        (card("title: [x"), "no YAML, line"),
        (card("title: x", "date: 2024-13-01"), "no YAML, line 3: that is no timestamp."),
        (card("title: " + "[\n" * 2000), "no YAML: nested too deeply."),
        (card("- x"), "no names and values"),
        (card(*(line.replace("docker", "gradio") for line in GOOD)), "sdk: docker"),
        (card(*(line.replace("8000", "7860") for line in GOOD)), "app_port: 8000"),
        (card(*GOOD[:3]), "the tag openenv"),
        (card(*GOOD[:3], "tags: openenv"), "the tag openenv"),
    ],
)
def test_what_makes_no_environment_space_is_told_with_the_lines_it_needs(text: str | None, told: str) -> None:
    with pytest.raises(ConfigurationError, match=r"sdk: docker\napp_port: 8000\ntags:\n  - openenv") as found:
        check_card(text, 8000)
    assert told in found.value.message
