"""Spaces that run what was pushed to them: the stand-in Hub's files, in a real server process behind a front."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.hub.space_front import space_front
from tests.support.hub.state import HubState, Repo
from tests.support.servers import running_server


@contextmanager
def running_spaces(hub: HubState, folder: Path) -> Iterator[None]:
    """Serves each Space from its newest commit on, until the block ends.

    Args:
        hub: The Hub.
        folder: Where the files of the commits are written.
    """
    with ExitStack() as servers:

        def serve(space: Repo) -> None:
            place = folder / space.head.sha
            for path, content in space.head.files.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_bytes(content)
            settings = {name: each["value"] for name, each in space.variables.items()} | space.secrets
            server = servers.enter_context(running_server("server.app:app", cwd=place, env=settings))
            owners = next((token for token, name in hub.people.items() if name == space.author), None)
            token = owners if space.private else None
            space.host = servers.enter_context(space_front(server.base_url, token=token)).url

        hub.on_commit = serve
        yield
