"""Without an engine; with one: ``tests/containers/test_command.py``."""

from __future__ import annotations

from itertools import islice, repeat

from openenv_gym.providers.docker.inventory import lines_of


def test_lines_are_whole_however_they_come() -> None:
    assert list(lines_of([b"on", b"e\r\ntwo\n\nfo", "ür".encode()[:2], "ür".encode()[2:], b"\nlast"])) == [
        "one",
        "two",
        "",
        "foür",
        "last",
    ]


def test_a_line_without_end_is_told_in_pieces() -> None:
    (piece,) = islice(lines_of(repeat(b"x" * 1000)), 1)
    assert set(piece) == {"x"}
    assert len(piece) < 100_000
