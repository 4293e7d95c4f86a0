from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from openenv_gym_server.patience import patient_protocol

from tests.support.serving import serving
from tests.support.sockets import frame_socket


def test_a_connection_may_be_silent_between_its_requests_longer_than_a_head_may_take() -> None:
    with serving(env={"OPENENV_GYM_REQUEST_TIMEOUT": "2"}) as server, frame_socket(server.ws_url) as other:
        address = urlsplit(server.base_url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        connection.connect()
        opened = connection.sock
        try:
            for silence in (3.0, 0.0):
                connection.request("GET", "/health")
                assert connection.getresponse().read() == b'{"status":"healthy"}'
                other.reset()
                other.step(do="sleep", seconds=silence)
            assert connection.sock is opened
        finally:
            connection.close()


def test_each_server_has_a_limit_of_its_own() -> None:
    assert (patient_protocol(1.0).seconds, patient_protocol(2.0).seconds) == (1.0, 2.0)
