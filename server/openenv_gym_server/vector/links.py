"""The links of a server that can be resumed, by the secrets that prove whose they are."""

from __future__ import annotations

import hmac
import secrets

from openenv_gym_protocol.errors import SessionLost

from openenv_gym_server.placement import placed
from openenv_gym_server.vector.link import Link


class Links:
    """Finds links. Used on the server's event loop only.

    Args:
        worker: Which worker process they are in, where there are several.
    """

    def __init__(self, worker: int | None = None) -> None:
        self._worker = worker
        self._links: dict[str, tuple[str, Link]] = {}

    def add(self, link: Link) -> str:
        """Adds a link.

        Returns:
            The secret by which its client finds it again.
        """
        name, secret = placed(secrets.token_urlsafe(9), self._worker), secrets.token_urlsafe(32)
        self._links[name] = (secret, link)
        return f"{name}.{secret}"

    def find(self, told: str) -> Link:
        """The link of a secret.

        Raises:
            SessionLost: There is none: it ended, or never was.
        """
        # A dictionary is no place for the secret itself: how long it takes to miss may tell of what it holds.
        name, _, secret = told.partition(".")
        known, link = self._links.get(name, ("", None))
        if not hmac.compare_digest(known.encode(), secret.encode()) or link is None:
            raise SessionLost("There is no such link: its lanes were not resumed in time, or the server is another.")
        return link

    def remove(self, link: Link) -> None:
        """Removes a link, if it is there."""
        for name, (_, known) in list(self._links.items()):
            if known is link:
                del self._links[name]

    async def end(self) -> None:
        """Ends all links."""
        for _, link in list(self._links.values()):
            await link.end()
