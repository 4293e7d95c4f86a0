"""``openenv search``: Spaces that serve environments."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from openenv_gym_cli import output


def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", help="What to look for; else all.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to tell at most.")] = 20,
    offline: Annotated[bool, typer.Option("--offline", help="Look into the cache alone.")] = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the Hub, however young the cache is.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> None:
    """Searches the Spaces on the Hugging Face Hub that serve environments; without a network, those seen before.

    $ openenv search chess
    $ openenv search --offline --json
    """
    from openenv_gym_registry.search import search as search_spaces

    found = search_spaces(" ".join(words or ()), limit=limit, offline=offline, refresh=refresh)
    # Of one that is stale, the registry's warning says why.
    if not found.is_stale and found.age is not None and found.age.total_seconds() >= 1:
        from openenv_gym_registry.cache import in_words

        output.note(f"As of {in_words(found.age)} ago, from the cache.")
    if found.total > len(found.spaces):
        output.note(f"{len(found.spaces)} of {found.total}; --limit tells more.")
    if json:
        output.data_json([asdict(space) for space in found.spaces])
        return
    rows = [(space.id, space.title, space.stage, space.hardware, space.likes) for space in found.spaces]
    output.table(["SPACE", "TITLE", "STATE", "HARDWARE", "LIKES"], rows, empty="No Space matches.")
