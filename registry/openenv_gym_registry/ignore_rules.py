"""Which files a project keeps to itself, by the rules of ``.gitignore`` and ``.dockerignore``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class IgnoreRule:
    """One line of an ignore file.

    Attributes:
        pattern: What a path, or a folder above it, has to match.
        folders_only: Whether it is of folders alone.
        brings_back: Whether it takes in again what an earlier rule left out.
    """

    pattern: re.Pattern[str]
    folders_only: bool
    brings_back: bool


@dataclass(frozen=True)
class IgnoreFile:
    """The rules of one ignore file, in order.

    Attributes:
        rules: The rules.
        is_dockers: Whether they count as in ``.dockerignore``: from the top folder, and what is below a folder that is
            left out can be brought back; else as in ``.gitignore``.
    """

    rules: tuple[IgnoreRule, ...]
    is_dockers: bool

    @property
    def brings_back(self) -> bool:
        """Whether it has a rule that takes something in again."""
        return any(rule.brings_back for rule in self.rules)

    def says(self, path: str) -> bool | None:
        """Whether a file is left out; None where no rule is about it.

        Args:
            path: The file's path in the project, with ``/``.
        """
        folders = [str(parent) for parent in reversed(PurePosixPath(path).parents)][1:]
        if self.is_dockers:
            return self._last([path, *folders], self.rules)
        said: bool | None = None
        for folder in folders:
            found = self._last([folder], self.rules)
            said = said if found is None else found
            if said:
                return True
        found = self._last([path], [rule for rule in self.rules if not rule.folders_only])
        return said if found is None else found

    @staticmethod
    def _last(places: Sequence[str], rules: Sequence[IgnoreRule]) -> bool | None:
        """What the last rule says that is about one of these places."""
        about = (rule for rule in reversed(rules) if any(rule.pattern.fullmatch(place) for place in places))
        return next((not rule.brings_back for rule in about), None)


def parse_rules(text: str, *, is_dockers: bool = False) -> IgnoreFile:
    """Reads the lines of an ignore file.

    Args:
        text: The file.
        is_dockers: See ``IgnoreFile``.
    """
    lines = (line.strip() for line in text.splitlines())
    read = (_rule(line, from_the_top=is_dockers) for line in lines if line and not line.startswith("#"))
    return IgnoreFile(tuple(rule for rule in read if rule is not None), is_dockers)


def is_ignored(path: str, files: Iterable[IgnoreFile]) -> bool:
    """Whether a file is left out: the last ignore file that says something of it decides.

    Args:
        path: The file's path in the project, with ``/``.
        files: The ignore files, in order.
    """
    said = [each for each in (file.says(path) for file in files) if each is not None]
    return bool(said) and said[-1]


def _rule(line: str, *, from_the_top: bool) -> IgnoreRule | None:
    brings_back = line.startswith("!")
    body = line.removeprefix("!").removeprefix("./")
    pattern = body.strip("/")
    if not pattern:
        return None
    is_anchored = from_the_top or "/" in body.rstrip("/")
    regex = ("" if is_anchored else "(?:.*/)?") + "".join(_translated(pattern))
    try:
        compiled = re.compile(regex, re.DOTALL)
    except re.error:  # such as [z-a], by which git matches nothing
        return None
    return IgnoreRule(compiled, body.endswith("/") and not from_the_top, brings_back)


_TOKENS = re.compile(r"(?P<folders>\*\*/)|(?P<all>\*\*)|(?P<some>\*)|(?P<one>\?)|\[(?P<set>[!^]?\]?[^\]/]*)\]|\\?(.)")


def _translated(pattern: str) -> Iterator[str]:
    for token in _TOKENS.finditer(pattern):
        if token["folders"]:
            yield "(?:.*/)?"
        elif token["all"]:
            yield ".*"
        elif token["some"]:
            yield "[^/]*"
        elif token["one"]:
            yield "[^/]"
        elif token["set"]:
            inverted = token["set"][0] in "!^"
            inside = token["set"][inverted:].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
            yield f"[{'^/' if inverted else ''}{inside}]"
        else:
            yield re.escape(token[6])
