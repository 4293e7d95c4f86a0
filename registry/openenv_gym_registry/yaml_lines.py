"""YAML that knows the line of each of its keys, and refuses a key that is there twice."""

from __future__ import annotations

from typing import Any, TypeAlias

import yaml
from openenv_gym_protocol.errors import ConfigurationError

Where: TypeAlias = tuple[str | int, ...]
"""The way to a value: the keys and positions that lead to it."""


MOST_VALUES = 100_000
"""How many values a document may have, each alias counted with all that it stands for: a few lines can stand for more
than a memory holds."""


class Lines:
    """The line of every value of a document, counted from 1.

    Args:
        origin: Where the document comes from, for messages.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._lines: dict[Where, int] = {}

    def note(self, where: Where, line: int) -> None:
        """Remembers a value's line.

        Raises:
            ConfigurationError: There are too many.
        """
        if len(self._lines) >= MOST_VALUES:
            raise ConfigurationError(f"{self._origin}, line {line}: there are more than {MOST_VALUES} values.")
        self._lines[where] = line

    def of(self, where: Where) -> int:
        """The line of a value, or of the nearest one around it that exists."""
        while where and where not in self._lines:
            where = where[:-1]
        return self._lines.get(where, 1)


class _Loader(yaml.SafeLoader):
    """PyYAML's, whose every failure is a ``YAMLError`` that knows its line."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            # Such as the 13th month, or a number of 5,000 digits.
            kind = node.tag.rpartition(":")[2]
            raise yaml.MarkedYAMLError(problem=f"that is no {kind}", problem_mark=node.start_mark) from error


def read_yaml(text: str, *, origin: str) -> tuple[Any, Lines]:
    """Reads one document of plain YAML.

    Args:
        text: The YAML.
        origin: Where it comes from, for messages.

    Returns:
        The value, and the lines of what is in it.

    Raises:
        ConfigurationError: It is no YAML, has tags that make Python objects, names a key twice, or is too large.
    """
    lines = Lines(origin)
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, lines
        _note(node, (), lines, origin)
        return loader.construct_document(node), lines
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        raise ConfigurationError(f"{origin}{line}: {_problem(error)}") from error
    except RecursionError:
        raise ConfigurationError(f"{origin}: nested too deeply.") from None
    finally:
        if loader is not None:
            loader.dispose()


def _problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        return f"the character {error.character:#04x} cannot stand in YAML."
    return str(getattr(error, "problem", None) or error)


def _note(node: yaml.Node, where: Where, lines: Lines, origin: str) -> None:
    lines.note(where, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for position, entry in enumerate(node.value):
            _note(entry, (*where, position), lines, origin)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, entry in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigurationError(f"{origin}, line {key.start_mark.line + 1}: a key is a word.")
            name = str(key.value)
            if name in seen:
                raise ConfigurationError(f"{origin}, line {key.start_mark.line + 1}: {name} is there twice.")
            seen.add(name)
            _note(entry, (*where, name), lines, origin)
            lines.note((*where, name), key.start_mark.line + 1)
