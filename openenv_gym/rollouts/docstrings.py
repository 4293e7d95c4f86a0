"""Docstrings of functions that are made of schemas, in Google's form, and the reading of foreign ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SECTION = re.compile(
    r"^\s*(Args|Arguments|Parameters|Params|Returns|Return|Raises|Yields|Examples?|Notes?):\s*$", re.IGNORECASE
)
_ARGUMENT = re.compile(r"^\s*\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.+)$")
_CHOICES = re.compile(r"\(choices:", re.IGNORECASE)
_ARGUMENT_SECTIONS = frozenset({"args", "arguments", "parameters", "params"})


@dataclass(frozen=True)
class ToolText:
    """What a tool's description says.

    Attributes:
        summary: What the tool does, without sections.
        arguments: What its docstring says of each argument, where it is one.
    """

    summary: str
    arguments: Mapping[str, str]


def read_description(description: str) -> ToolText:
    """Reads a tool's description, which often is its function's whole docstring."""
    summary: list[str] = []
    arguments: dict[str, str] = {}
    section, last = "", ""
    for line in description.splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading[1].lower()
        elif not section:
            summary.append(line.strip())
        elif section in _ARGUMENT_SECTIONS and (argument := _ARGUMENT.match(line)):
            last = argument[1]
            arguments[last] = argument[2].strip()
        elif section in _ARGUMENT_SECTIONS and last and line.strip():
            arguments[last] += f" {line.strip()}"
    return ToolText("\n".join(summary).strip(), arguments)


def write_docstring(summary: str, arguments: Mapping[str, str], returns: str) -> str:
    """A docstring in Google's form.

    Args:
        summary: What the function does.
        arguments: What is to be said of each argument, in order.
        returns: What it returns.
    """
    lines = [_safe(summary)]
    if arguments:
        lines += ["", "Args:", *(f"    {name}: {_safe(' '.join(text.split()))}" for name, text in arguments.items())]
    lines += ["", "Returns:", f"    {_safe(returns)}"]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    # transformers reads "(choices: ...)" at the end of a description as JSON.
    return _CHOICES.sub("(choices are:", text)
