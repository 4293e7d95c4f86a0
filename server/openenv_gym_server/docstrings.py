"""Google docstrings of tools: what the tool does, and what each parameter is."""

from __future__ import annotations

import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Return|Yields|Raises|Example|Examples|Note|Notes):\s*$")
_PARAMETER_SECTIONS = {"Args", "Arguments", "Parameters"}
_PARAMETER = re.compile(r"^(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Reads a cleaned docstring.

    Args:
        text: The docstring as ``inspect.getdoc`` returns it.

    Returns:
        The description and the description of each parameter. A docstring without an ``Args:`` section that describes
        parameters is the description as a whole.
    """
    lines = text.splitlines()
    sections = [(number, match[1]) for number, line in enumerate(lines) if (match := _SECTION.match(line))]
    parameters: dict[str, str] = {}
    for number, name in sections:
        if name in _PARAMETER_SECTIONS:
            parameters |= _read_parameters(lines[number + 1 :])
    if not parameters:
        return text, {}
    return "\n".join(lines[: sections[0][0]]).strip(), parameters


def _read_parameters(lines: list[str]) -> dict[str, str]:
    """Reads the indented lines that follow a section's head."""
    told: dict[str, list[str]] = {}
    current: list[str] = []
    indent = 0
    for line in lines:
        if not line.strip():
            continue
        if not line.startswith(" "):
            break  # the section ends
        depth = len(line) - len(line.lstrip())
        match = _PARAMETER.match(line)
        if match and (not told or depth <= indent):
            indent = depth
            current = told.setdefault(match[2], [match[3]])
        else:
            current.append(line.strip())
    return {name: "\n".join(text).strip() for name, text in told.items()}
