"""A place in a run: one client, and so one session, for one episode after another."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future

from openenv_gym_protocol.errors import OpenEnvGymError

from openenv_gym.rollouts.sources import AnyClient, ClientMaker

logger = logging.getLogger(__name__)


class Seat:
    """Has a client, from when it is asked for one until it is left.

    Args:
        make: Makes a client; it may block, while a server starts.
    """

    def __init__(self, make: ClientMaker) -> None:
        self._make = make
        self._client: AnyClient | None = None

    async def client(self) -> AnyClient:
        """The client, which is made when there is none.

        Raises:
            OpenEnvGymError: The server cannot be started.
        """
        if self._client is None:
            self._client = await asyncio.wrap_future(_on_thread(self._make))
        return self._client

    async def leave(self) -> None:
        """Closes the client, and its session with it, whoever cancels this meanwhile. Idempotent."""
        client, self._client = self._client, None
        if client is None:
            return
        closing = asyncio.ensure_future(_close(client))
        cancelled: asyncio.CancelledError | None = None
        while not closing.done():
            try:
                await asyncio.shield(closing)
            except asyncio.CancelledError as error:
                # A run that ends cancels its workers, and some of them are just here.
                cancelled = error
        if cancelled is not None:
            raise cancelled


async def _close(client: AnyClient) -> None:
    try:
        await client.close()
    except OpenEnvGymError as error:
        # The connection broke first: then the server ends the session by itself.
        logger.debug("A session could not be closed in order: %s", error)


def _on_thread(make: ClientMaker) -> Future[AnyClient]:
    """Makes a client on a daemon thread, for which the interpreter's end does not wait.

    A client that comes too late has no connection yet, so there is nothing to close.
    """
    future: Future[AnyClient] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            client = make()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(client)

    threading.Thread(target=run, name="openenv-gym rollouts' client", daemon=True).start()
    return future
