"""``openenv info``: what is known of one environment."""

from __future__ import annotations

import re
from dataclasses import asdict
from difflib import get_close_matches
from json import dumps
from typing import Annotated, Any

import typer

from openenv_gym_cli import output

_LIKE_AN_ID = re.compile(r"openenv/[A-Z][^/]*-v\d+")


def _known_ids(incomplete: str) -> list[str]:
    from openenv_gym_cli.catalogue import entries

    return [id for id in entries() if id.startswith(incomplete)]


def info(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ID|SPACE|PATH", help="An id, a Space or a project's folder.", autocompletion=_known_ids
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Tell it as JSON.")] = False,
) -> None:
    """Tells what is known of an environment: of an id, of a Space on the Hub, or of the project in a folder.

    $ openenv info openenv/Blackjack-v0
    $ openenv info owner/name
    $ openenv info ./my_game --json
    """
    told = _of_known(what) or _of_folder(what) or _of_space(what)
    if json:
        output.data_json(told)
    else:
        output.facts({name: _shown(value) for name, value in told.items()})


def _of_known(what: str) -> dict[str, Any] | None:
    from openenv_gym_cli.catalogue import entries, installed

    entry = entries().get(what) or next((each for each in installed().values() if each.id == what), None)
    return None if entry is None else asdict(entry)


def _of_folder(what: str) -> dict[str, Any] | None:
    from openenv_gym_cli.project import folder_named, read_project

    folder = folder_named(what)
    if folder is None:
        return None
    from openenv_gym_registry.catalogue import read_entry

    return asdict(read_entry(read_project(folder).folder))


def _of_space(what: str) -> dict[str, Any]:
    from openenv_gym_registry.catalogue import known_spaces
    from openenv_gym_registry.search import lookup

    spaces = {each.id: each.space for each in known_spaces()}
    if what not in spaces:
        _refuse_misspelt(what)
    return asdict(lookup(spaces.get(what, what)))


def _refuse_misspelt(what: str) -> None:
    """Refuses what can be no Space, but is like an id.

    Raises:
        ConfigurationError: It is; the nearest id is named.
    """
    from openenv_gym_protocol.errors import ConfigurationError

    if "/" in what and not _LIKE_AN_ID.fullmatch(what):
        return
    names = {id.partition("/")[2].casefold(): id for id in _known_ids("")}
    names |= {name.rpartition("-v")[0]: id for name, id in names.items()}
    meant = get_close_matches(what.removeprefix("openenv/").casefold(), names, n=1)
    if meant:
        raise ConfigurationError(f"{what!r} is no id. Did you mean {names[meant[0]]}? `openenv list` shows them all.")


def _shown(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, dict):
        return dumps(value, ensure_ascii=False) if value else None
    if isinstance(value, tuple | list) and value and isinstance(value[0], dict):
        return ", ".join(str(each.get("id", each)) for each in value)
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
