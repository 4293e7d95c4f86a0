"""The front matter of a project's README, by which the Hub knows what to do with a Space. Pure."""

from __future__ import annotations

from typing import Any

import yaml
from openenv_gym_protocol.errors import ConfigurationError

README_NAME = "README.md"
_MARK = "---"
TAG = "openenv"


def check_card(text: str | None, port: int) -> None:
    """Checks that a Space made of this README runs and is found.

    Args:
        text: The README; None: there is none.
        port: Where the server in the image listens.

    Raises:
        ConfigurationError: It would not; the lines that it needs are told.
    """
    problem = _problem(text, port)
    if problem is not None:
        title = f"{_MARK}\ntitle: My environment\n"
        lines = f"sdk: docker\napp_port: {port}\ntags:\n  - {TAG}\n{_MARK}"
        raise ConfigurationError(f"{problem} The Hub needs {README_NAME} to begin with:\n{title}{lines}")


def _problem(text: str | None, port: int) -> str | None:
    if text is None:
        return f"The project has no {README_NAME}."
    card = _front_matter(text)
    if isinstance(card, str):
        return card
    if card.get("sdk") != "docker":
        return f"{README_NAME} does not say sdk: docker."
    if card.get("app_port") != port:
        return f"{README_NAME} does not say app_port: {port}, where the server listens."
    tags = card.get("tags")
    if not isinstance(tags, list) or TAG not in tags:
        return f"{README_NAME} lacks the tag {TAG}, by which environments are found."
    return None


def _front_matter(text: str) -> dict[str, Any] | str:
    """The front matter, or what is wrong with it."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != _MARK or _MARK not in (line.strip() for line in lines[1:]):
        return f"{README_NAME} has no front matter."
    end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == _MARK)
    try:
        card = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", line {mark.line + 2}"
        return f"The front matter of {README_NAME} is no YAML{where}."
    return card if isinstance(card, dict) else f"The front matter of {README_NAME} holds no names and values."
