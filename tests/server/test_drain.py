"""A server that is told to end answers what is under way, and nothing else."""

from __future__ import annotations

import os
import signal

from openenv_gym_protocol.vector import frames
from openenv_gym_protocol.vector.frames import Batch

from tests.support.servers import RunningServer, running_server
from tests.support.serving import serving
from tests.support.sockets import frame_socket
from tests.support.vector_client import Table, vector_socket

MISBEHAVING = "tests.support.apps.misbehaving:app"
LONG = {"do": "sleep", "seconds": 2.0}


def draining(seconds: float) -> tuple[str, str]:
    """The program of a server that waits so long at most for what is under way when it ends."""
    patience = f"from openenv_gym_server.sockets import direct; direct._DRAIN_SECONDS = {seconds}; "
    return "-c", patience + "from openenv_gym_server.serve import main; main()"


def terminate(server: RunningServer) -> None:
    """Tells a server to end, once it has read what was sent to it before."""
    with frame_socket(server.ws_url) as socket:
        socket.reset()
    os.kill(server.pid, signal.SIGTERM)


def test_a_running_step_is_answered_before_its_connection_is_closed() -> None:
    with running_server(MISBEHAVING) as server, frame_socket(server.ws_url, compression=None) as socket:
        socket.reset()
        socket.send({"type": "step", "data": LONG})
        terminate(server)
        assert socket.receive()["data"]["observation"]["text"] == "slept"
        assert socket.close_code() == 1012


def test_running_steps_of_lanes_are_answered_before_their_connection_is_closed() -> None:
    with running_server(MISBEHAVING) as server, vector_socket(server.ws_url, compression=None) as socket:
        lanes = socket.open(2)
        socket.reset(lanes)
        request = socket.send(frames.Step, lanes=lanes, actions=Batch(values=[LONG, {"do": "answer"}]))
        terminate(server)
        assert {row["text"] for row in Table(socket.parts(request)).values.values()} == {"slept", ""}
        assert socket.close_code() == 1012


def test_a_step_that_hangs_does_not_hold_up_the_end() -> None:
    with serving(program=draining(1.0)) as server, frame_socket(server.ws_url, compression=None) as socket:
        socket.reset()
        socket.send({"type": "step", "data": {"do": "hang"}})
        terminate(server)
        assert socket.close_code() == 1012


def test_a_notification_under_way_holds_up_the_end_until_it_is_done_and_no_longer() -> None:
    call = {"name": "nap", "arguments": {"seconds": 1.0}}
    with (
        serving(app="tests.support.apps.churned:app", program=draining(1000.0)) as server,
        frame_socket(server.ws_url.removesuffix("/ws") + "/mcp", compression=None) as socket,
    ):
        socket.send({"jsonrpc": "2.0", "method": "tools/call", "params": call})
        terminate(server)
        assert socket.close_code() == 1012
