"""The typed environment behind dm_env_rpc: one stream, and one thread of gRPC's pool, for each session.

Prints its port as a JSON line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np
from dm_env_rpc.v1 import dm_env_rpc_pb2 as rpc
from dm_env_rpc.v1 import dm_env_rpc_pb2_grpc, tensor_utils

MAX_SESSIONS = 256


def _specs() -> Any:
    action = rpc.TensorSpec(dtype=rpc.INT64, name="value")
    values = rpc.TensorSpec(dtype=rpc.FLOAT, shape=[4], name="values")
    reward = rpc.TensorSpec(dtype=rpc.DOUBLE, name="reward")
    return rpc.ActionObservationSpecs(actions={1: action}, observations={1: values, 2: reward})


class Service(dm_env_rpc_pb2_grpc.EnvironmentServicer):
    """One environment for each stream."""

    def Process(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        """Answers the requests of a session."""
        del context
        count = 0
        for request in requests:
            kind = request.WhichOneof("payload")
            if kind == "create_world":
                yield rpc.EnvironmentResponse(create_world=rpc.CreateWorldResponse(world_name="values"))
            elif kind == "join_world":
                yield rpc.EnvironmentResponse(join_world=rpc.JoinWorldResponse(specs=_specs()))
            elif kind == "step":
                value = tensor_utils.unpack_tensor(request.step.actions[1]) if request.step.actions else 0
                values = np.array([count, value, 0.25, -0.5], np.float32)
                count += 1
                yield rpc.EnvironmentResponse(step=_stepped(values))
            else:
                yield rpc.EnvironmentResponse(leave_world=rpc.LeaveWorldResponse())


def _stepped(values: Any) -> Any:
    observations = {1: tensor_utils.pack_tensor(values), 2: tensor_utils.pack_tensor(1.0)}
    return rpc.StepResponse(state=rpc.RUNNING, observations=observations)


if __name__ == "__main__":
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=MAX_SESSIONS))
    dm_env_rpc_pb2_grpc.add_EnvironmentServicer_to_server(Service(), server)
    port = server.add_secure_port("127.0.0.1:0", grpc.local_server_credentials())
    server.start()
    print(json.dumps({"port": port}), flush=True)
    server.wait_for_termination()
