"""Spaces on the stand-in Hub that are really served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub.server import running_hub
from tests.support.hub.space_front import Moment, SpaceFront, space_front
from tests.support.hub.state import OWNER_TOKEN, HubState
from tests.support.servers import ROOT

ECHO = ROOT / "envs" / "echo"

ECHO_FILES = {
    str(path.relative_to(ECHO)): path.read_bytes()
    for path in ECHO.rglob("*")
    if path.is_file() and "__pycache__" not in path.parts and "tests" not in path.parts
}
"""The echo project, as its Space has it."""


@contextmanager
def hub_for(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[HubState]:
    """Runs a Hub that is this process's, and its children's, with caches in a folder and nobody logged in."""
    monkeypatch.setenv("OPENENV_GYM_CACHE", str(folder / "cache"))
    monkeypatch.setenv("HF_HOME", str(folder / "hf"))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(folder / "hf" / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@contextmanager
def served_space(
    hub: HubState, id: str, backend: str, script: Iterable[Moment] = (), *, asleep: bool = False, **repo: Any
) -> Iterator[SpaceFront]:
    """Adds a Space to a Hub and serves it behind a front, whose stage the Hub tells.

    Args:
        hub: The Hub.
        id: The Space's.
        backend: The address of the server that is its environment.
        script: What its first requests meet.
        asleep: Whether it sleeps at first.
        repo: What else the Hub has of it; a private one asks for its owner's token.
    """
    space = hub.add(id, ECHO_FILES, **repo)
    if asleep:
        space.runtime["stage"] = "SLEEPING"

    def tell(stage: str) -> None:
        if stage:
            space.runtime["stage"] = stage

    with space_front(backend, script, token=OWNER_TOKEN if space.private else None, tell=tell) as front:
        space.host = front.url
        yield front
