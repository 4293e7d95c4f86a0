"""The front matter of a project's README, by which the Hub knows what to do with a Space. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym_registry.yaml_lines import read_yaml

README_NAME = "README.md"
_MARK = "---"
TAG = "openenv"
"""What Spaces with an environment are tagged."""


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
    try:
        card = front_matter(text)
    except ConfigurationError as error:
        return f"{error.message.rstrip('.')}."
    if card.get("sdk") != "docker":
        return f"{README_NAME} does not say sdk: docker."
    if card.get("app_port") != port:
        return f"{README_NAME} does not say app_port: {port}, where the server listens."
    if not is_tagged(card):
        return f"{README_NAME} lacks the tag {TAG}, by which environments are found."
    return None


def front_matter(text: str) -> dict[str, Any]:
    """The front matter of a README.

    Raises:
        ConfigurationError: It has none, or it is not one of names and values in YAML.
    """
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != _MARK or _MARK not in (line.strip() for line in lines[1:]):
        raise ConfigurationError(f"{README_NAME} has no front matter.")
    end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == _MARK)
    # The first line stays, empty, for the numbers of those below.
    card, _ = read_yaml("\n".join(["", *lines[1:end]]), origin=f"The front matter of {README_NAME} is no YAML")
    if not isinstance(card, dict):
        raise ConfigurationError(f"The front matter of {README_NAME} holds no names and values.")
    return card


def is_tagged(card: Mapping[str, Any]) -> bool:
    """Whether a front matter has the tag by which environments are found."""
    tags = card.get("tags")
    return isinstance(tags, list) and TAG in tags
