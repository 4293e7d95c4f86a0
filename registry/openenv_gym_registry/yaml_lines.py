"""YAML that knows the line of each of its keys, and refuses a key that is there twice."""

from __future__ import annotations

from typing import Any, TypeAlias

import yaml
from openenv_gym_protocol.errors import ConfigurationError

Where: TypeAlias = tuple[str | int, ...]
"""The way to a value: the keys and positions that lead to it."""


class Lines:
    """The line of every value of a document, counted from 1."""

    def __init__(self) -> None:
        self._lines: dict[Where, int] = {}

    def note(self, where: Where, line: int) -> None:
        """Remembers a value's line."""
        self._lines[where] = line

    def of(self, where: Where) -> int:
        """The line of a value, or of the nearest one around it that exists."""
        while where and where not in self._lines:
            where = where[:-1]
        return self._lines.get(where, 1)


def read_yaml(text: str, *, origin: str) -> tuple[Any, Lines]:
    """Reads one document of plain YAML.

    Args:
        text: The YAML.
        origin: Where it comes from, for messages.

    Returns:
        The value, and the lines of what is in it.

    Raises:
        ConfigurationError: It is no YAML, has tags that make Python objects, or names a key twice.
    """
    lines = Lines()
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, lines
        _note(node, (), lines, origin)
        return loader.construct_document(node), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        raise ConfigurationError(f"{origin}{line}: {getattr(error, 'problem', None) or error}") from error
    except RecursionError:
        raise ConfigurationError(f"{origin}: nested too deeply.") from None
    finally:
        loader.dispose()


def _note(node: yaml.Node, where: Where, lines: Lines, origin: str) -> None:
    lines.note(where, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for position, entry in enumerate(node.value):
            _note(entry, (*where, position), lines, origin)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, entry in node.value:
            name = str(key.value)
            if name in seen:
                raise ConfigurationError(f"{origin}, line {key.start_mark.line + 1}: {name} is there twice.")
            seen.add(name)
            _note(entry, (*where, name), lines, origin)
            lines.note((*where, name), key.start_mark.line + 1)
