"""YAML with the lines of its keys."""

from __future__ import annotations

import pytest
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_registry.yaml_lines import read_yaml


def test_every_value_has_the_line_of_its_key() -> None:
    value, lines = read_yaml("a: 1\nb:\n  c:\n    - x\n    - y\n", origin="f")
    assert value == {"a": 1, "b": {"c": ["x", "y"]}}
    assert [lines.of(where) for where in [("a",), ("b",), ("b", "c"), ("b", "c", 1)]] == [1, 2, 3, 5]


def test_a_value_that_is_not_there_has_the_line_of_what_should_hold_it() -> None:
    _, lines = read_yaml("a: 1\nb:\n  c: 2\n", origin="f")
    assert lines.of(("b", "missing", 0)) == 2
    assert lines.of(("missing",)) == 1


def test_an_empty_document_is_none() -> None:
    assert read_yaml("# nothing\n", origin="f")[0] is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", 3),
        ("a:\n  b: 1\n  b: 2\n", 3),
        ("a: 1\nb: [1, 2\nc: 3\n", 3),
        ("a: 1\n\tb: 2\n", 2),
        ("a: !!python/object/apply:os.system ['true']\n", 1),
        ("a: 1\n--- \nb: 2\n", 2),
        ("a: 1\nb: 2024-13-45\n", 2),
        ("a: 1\nb: " + "1" * 5000, 2),
        ("a: 1\nb: !!int x\n", 2),
        ("a: 1\nb: [!!bool x]\n", 2),
        ("a: 1\nb: !!timestamp x\n", 2),
        ("a: 1\n? [b]\n: 2\n", 2),
    ],
    ids=[
        "twice",
        "twice-within",
        "unclosed",
        "tab",
        "object",
        "two-documents",
        "13th-month",
        "endless-number",
        "no-number",
        "no-boolean",
        "no-time",
        "list-as-key",
    ],
)
def test_broken_yaml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"^f, line {line}:"):
        read_yaml(text, origin="f")


def test_yaml_nested_past_all_reason_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        read_yaml("[\n" * 5000 + "]\n" * 5000, origin="f")
    # In one line it takes PyYAML long, and the longer the deeper.
    with pytest.raises(ConfigurationError):
        read_yaml("[" * 700 + "]" * 700, origin="f")


def test_a_few_lines_that_stand_for_more_than_a_memory_holds_are_refused() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10))
    with pytest.raises(ConfigurationError, match=r"^f, line \d+: there are more than"):
        read_yaml(f"l0: &l0 [x]\n{levels}", origin="f")


def test_a_character_that_yaml_does_not_have_is_named() -> None:
    with pytest.raises(ConfigurationError, match="0x07"):
        read_yaml("a: \x07\n", origin="f")
