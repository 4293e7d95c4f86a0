"""Ignore files, compared with git itself where they are git's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from openenv_gym_registry.ignore_rules import is_ignored, parse_rules

PATHS = (
    "a.log",
    "keep.log",
    "a.py",
    "build/a.py",
    "src/build/a.py",
    "src/deep/er/a.log",
    "src/a.txt",
    "docs/a.txt",
    "docs/in/a.txt",
    "x1",
    "x2",
    "xa",
    "[b]",
    "#c",
    "!d",
    "a b",
    "ähm",
)


@pytest.mark.parametrize(
    "text",
    [
        "*.log",
        "*.log\n!keep.log",
        "build/",
        "/build/",
        "build",
        "src/build",
        "**/build",
        "src/**",
        "src/**/a.log",
        "docs/*.txt",
        "docs/**/*.txt",
        "x[0-9]",
        "x[!0-9]",
        "x[^12]",
        "x?",
        "\\[b\\]",
        "\\#c",
        "\\!d",
        "# a comment\n\na b",
        "*\n!a.py",
        "/*\n!/src/\n!/a.py",
        "ähm",
        "[z-a]",
        "a.py/",
        "x[",
        "src/\n!src/a.txt",
        "docs/*\n!docs/in/\n*.log",
    ],
)
def test_gitignore_leaves_out_what_git_leaves_out(text: str, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(text, encoding="utf-8")
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    git = ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false"]
    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    listed = [*git, "ls-files", "-z", "--others", "--exclude-standard"]
    kept = subprocess.run(listed, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split("\0")
    rules = [parse_rules(text)]
    assert {path for path in PATHS if not is_ignored(path, rules)} == {*kept} - {"", ".gitignore"}


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("tests", "tests/a.py", True),
        ("tests", "src/tests/a.py", False),
        ("**/tests", "src/tests/a.py", True),
        ("*.md\n!README.md", "README.md", False),
        ("*.md\n!README.md", "NOTES.md", True),
        ("vendor\n!vendor/*.whl", "vendor/a.whl", False),
        ("vendor\n!vendor/*.whl", "vendor/a.txt", True),
        ("./out/", "out/a", True),
    ],
)
def test_dockerignore_counts_from_the_top_and_brings_back(text: str, path: str, *, ignored: bool) -> None:
    assert is_ignored(path, [parse_rules(text, is_dockers=True)]) is ignored


def test_later_files_have_the_last_word() -> None:
    rules = [parse_rules("secret/"), parse_rules("!secret/open.txt")]
    assert not is_ignored("secret/open.txt", rules)
    assert is_ignored("secret/other.txt", rules)
