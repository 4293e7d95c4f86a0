"""Sends a step's bytes on every connection and waits for all echoes, by picows; arguments: ``base_url``, ``lanes``."""

from __future__ import annotations

import asyncio
from typing import Any

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from benchmarks.drivers.driving import drive
from benchmarks.drivers.loops import LoopDriver

REQUEST = b'{"type":"step","data":{"value":1}}'


class EchoDriver(LoopDriver):
    """One connection a lane, and no object, task or future for each of its messages."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__(uvloop.new_event_loop())
        self.lanes = arguments["lanes"]
        self._missing = 0
        self._done: asyncio.Future[None] | None = None
        self._transports: list[WSTransport] = []
        self.wait_for(self._begin(arguments["base_url"].replace("http://", "ws://")))

    async def _begin(self, url: str) -> None:
        driver = self

        class Waiting(WSListener):
            def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
                del transport, frame
                driver.arrived()

        for _ in range(self.lanes):
            transport, _ = await ws_connect(Waiting, url)
            self._transports.append(transport)

    def arrived(self) -> None:
        """Counts an echo; the last one ends the batch."""
        self._missing -= 1
        if not self._missing and self._done is not None:
            self._done.set_result(None)

    async def step_all(self) -> None:
        """Sends on every connection and waits for all."""
        self._missing = self.lanes
        self._done = asyncio.get_running_loop().create_future()
        for transport in self._transports:
            transport.send(WSMsgType.TEXT, REQUEST)
        await self._done

    async def count_kept(self) -> int:
        """All of them, or it would not return."""
        await self.step_all()
        return self.lanes


if __name__ == "__main__":
    drive(EchoDriver)
