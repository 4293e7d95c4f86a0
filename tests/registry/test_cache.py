"""What is kept on disk: whole or not at all, for its user alone."""

from __future__ import annotations

import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from openenv_gym_registry.cache import Cached, DiskCache, write_whole

NOW = datetime.now(UTC)


def test_an_answer_comes_back_with_its_age(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "new" / "folder")
    kept = Cached({"a": [1]}, 'W/"x"', "http://next", NOW - timedelta(hours=2))
    assert cache.read("key") is None
    cache.write("key", kept)
    assert cache.read("key") == kept
    assert cache.read("other") is None
    assert timedelta(hours=2) <= kept.age < timedelta(hours=3)
    assert Cached(1, None, None, NOW + timedelta(days=1)).age == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"key": "key"}',
        '{"key": "key", "body": 1, "etag": 2, "seen": 3}',
        '{"key": "key", "body": 1, "etag": 2, "next_url": null, "seen": "2026-01-01T00:00:00+00:00"}',
        '{"key": "key", "body": 1, "etag": null, "next_url": [], "seen": "2026-01-01T00:00:00+00:00"}',
    ],
)
def test_a_broken_file_is_as_none(tmp_path: Path, text: str) -> None:
    cache = DiskCache(tmp_path)
    cache.write("key", Cached(1, None, None, NOW))
    (only,) = tmp_path.iterdir()
    only.write_text(text)
    assert cache.read("key") is None


def test_a_time_without_a_zone_still_has_an_age(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.write("key", Cached(1, None, None, datetime(2026, 1, 1)))
    read = cache.read("key")
    assert read is not None
    assert read.age >= timedelta(0)


def test_others_cannot_read_it(tmp_path: Path) -> None:
    DiskCache(tmp_path / "hub").write("key", Cached(1, None, None, NOW))
    (only,) = (tmp_path / "hub").iterdir()
    assert stat.S_IMODE(only.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "hub").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    DiskCache(tmp_path / "file").write("key", Cached(1, None, None, NOW))


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "spaces.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_lies_in_a_folder_open_to_everybody_is_neither_read_nor_written(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    DiskCache(folder).write("key", Cached(1, None, None, NOW))
    folder.chmod(0o777)
    assert DiskCache(folder).read("key") is None
    DiskCache(folder).write("other", Cached(1, None, None, NOW))
    assert len(list(folder.iterdir())) == 1


def test_what_two_programs_write_at_once_is_one_of_both(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime; "
        "from openenv_gym_registry.cache import Cached, DiskCache; cache = DiskCache(Path(sys.argv[1])); "
        "[cache.write('key', Cached([int(sys.argv[2])] * 20_000, None, None, datetime.now(UTC))) for _ in range(50)]"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), number]) for number in "12"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        cached = DiskCache(tmp_path).read("key")
        if cached is not None:
            assert cached.body in ([1] * 20_000, [2] * 20_000)
            seen.add(cached.body[0])
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen
    assert len(list(tmp_path.iterdir())) == 1
