"""Drives a dm_env_rpc server by its async connection, all steps gathered; arguments: ``base_url``, ``lanes``."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import async_connection, tensor_utils
from dm_env_rpc.v1 import dm_env_rpc_pb2 as rpc

from benchmarks.drivers.driving import drive
from benchmarks.drivers.loops import LoopDriver


class DmEnvRpcDriver(LoopDriver):
    """One stream a lane, on one channel."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__()
        self.lanes = arguments["lanes"]
        self.wait_for(self._begin(arguments["base_url"].removeprefix("http://")))

    async def _begin(self, address: str) -> None:
        self._channel = grpc.aio.secure_channel(address, grpc.local_channel_credentials())
        self._connections = [async_connection.AsyncConnection(self._channel) for _ in range(self.lanes)]
        for connection in self._connections:
            await connection.send(rpc.CreateWorldRequest())
            await connection.send(rpc.JoinWorldRequest(world_name="values"))
            await connection.send(rpc.StepRequest(requested_observations=[1, 2]))

    async def _step(self, connection: Any) -> Any:
        action = {1: tensor_utils.pack_tensor(1, dtype=rpc.INT64)}
        reply = await connection.send(rpc.StepRequest(actions=action, requested_observations=[1, 2]))
        observations = reply.observations
        return tensor_utils.unpack_tensor(observations[1]), tensor_utils.unpack_tensor(observations[2])

    async def step_all(self) -> None:
        """Steps every lane once."""
        await asyncio.gather(*(self._step(connection) for connection in self._connections))

    async def count_kept(self) -> int:
        """The first value is the count of steps."""
        told = await asyncio.gather(*(self._step(connection) for connection in self._connections))
        return int(np.sum(np.array([values[0] for values, _ in told]) == self.batches + 1))

    def close(self) -> None:
        """Ends the streams."""
        self.wait_for(self._channel.close())
        super().close()


if __name__ == "__main__":
    drive(DmEnvRpcDriver)
