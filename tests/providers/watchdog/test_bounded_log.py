from __future__ import annotations

from pathlib import Path

from openenv_gym.providers.watchdog.bounded_log import BoundedLog, tail


def test_the_last_lines_are_read_back(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log")
    log.write(b"one\ntwo\n")
    log.write(b"three\n")
    assert tail(log.path, 2) == "two\nthree"
    assert tail(log.path, 0) == ""
    log.close()
    assert tail(log.path, 100) == "one\ntwo\nthree"


def test_a_log_never_takes_more_than_its_limit_and_keeps_the_end(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", limit=1000)
    for number in range(1000):
        log.write(b"line %d\n" % number)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1000
    log.close()
    lines = tail(log.path, 1000).splitlines()
    assert lines[-1] == "line 999"
    assert len(lines) > 50
    assert lines[1:] == [f"line {1001 - len(lines) + index}" for index in range(len(lines) - 1)]


def test_a_piece_larger_than_the_file_loses_its_beginning(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", limit=100)
    log.write(b"x" * 500 + b"\nend\n")
    log.close()
    assert tail(log.path, 1) == "end"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100


def test_what_is_told_of_a_log_without_ends_of_lines_or_with_very_many_is_short(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log")
    log.write(b"x" * 400_000 + b"y\nend\n")
    long, end = tail(log.path, 2).splitlines()
    assert len(long) < 5_000
    assert long.endswith("xy")
    assert long.startswith("... (395905 characters) x")
    assert end == "end"
    log.write(b"a line\n" * 50_000)
    log.close()
    assert len(tail(log.path, 50_000)) <= 1 << 16


def test_bytes_that_are_no_text_are_shown_all_the_same(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log")
    log.write(b"caf\xe9\n")
    log.close()
    assert tail(log.path, 1) == "caf\N{REPLACEMENT CHARACTER}"


def test_a_log_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "log", 10) == ""


def test_a_log_is_its_owners_alone(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "log", limit=10)
    log.write(b"12345678")
    log.write(b"12345678")
    log.close()
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
