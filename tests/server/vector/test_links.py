"""Who knows a link's secret finds it, and nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from openenv_gym_protocol.errors import SessionLost
from openenv_gym_server.vector.links import Links


class SomeLink:
    """As much of a link as the list of them looks at."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.ends = 0

    async def end(self) -> None:
        self.ends += 1
        self.links.remove(self)  # type: ignore[arg-type]


def some_link(links: Links) -> Any:
    return SomeLink(links)


def test_a_link_is_found_by_its_secret_until_it_is_removed() -> None:
    links = Links()
    first, second = some_link(links), some_link(links)
    secrets = [links.add(first), links.add(second)]
    assert [links.find(secret) for secret in secrets] == [first, second]
    links.remove(first)
    links.remove(first)
    assert links.find(secrets[1]) is second
    with pytest.raises(SessionLost):
        links.find(secrets[0])


def test_a_part_of_a_secret_or_that_of_another_finds_nothing() -> None:
    links = Links()
    mine, others = links.add(some_link(links)), links.add(some_link(links))
    name, secret = mine.split(".")
    for wrong in ("", ".", name, f"{name}.", f".{secret}", mine[:-1], f"{mine}x", f"{name}.{others.split('.')[1]}"):
        with pytest.raises(SessionLost):
            links.find(wrong)


def test_all_links_end_together() -> None:
    links = Links()
    each = [some_link(links) for _ in range(3)]
    for link in each:
        links.add(link)
    asyncio.run(links.end())
    assert [link.ends for link in each] == [1, 1, 1]
