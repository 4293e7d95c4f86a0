from __future__ import annotations

from openenv_gym_protocol.bodies import Health, Metadata, Schemas

from tests.support.http import http_client
from tests.support.servers import running_server
from tests.support.sockets import frame_socket


def test_a_server_tells_what_it_serves() -> None:
    with running_server("tests.support.apps.exclusive:app") as server, http_client(server) as client:
        assert client.get("/health").json() == Health().model_dump()
        assert Schemas.model_validate(client.get("/schema").json()).info_keys == ["level"]
        assert Metadata.model_validate(client.get("/metadata").json()).author == "somebody"
        assert client.get("/ready").json() == {
            "ready": True,
            "reasons": [],
            "active_sessions": 0,
            "max_sessions": 1,
            "hung_sessions": 0,
        }
        description = client.get("/openapi.json").json()
        assert description["info"]["title"] == "OpenEnv Environment HTTP API"
        assert {"/health", "/reset", "/step", "/state", "/list_environments"} <= description["paths"].keys()


def test_metadata_that_an_environment_does_not_tell_needs_no_instance() -> None:
    with (
        running_server("tests.support.apps.misbehaving:app", env={"TEST_CONSTRUCTOR": "raise"}) as server,
        http_client(server) as client,
    ):
        assert client.get("/metadata").json() == {
            "name": "MisbehavingEnvironment",
            "description": "MisbehavingEnvironment environment",
            "readme_content": None,
            "version": "1.0.0",
            "author": None,
            "documentation_url": None,
        }


def test_a_server_whose_environment_cannot_be_made_lives_and_is_not_ready() -> None:
    with (
        running_server("tests.support.apps.misbehaving:app", env={"TEST_CONSTRUCTOR": "raise"}) as server,
        http_client(server) as client,
    ):
        assert client.get("/health").status_code == 200
        response = client.get("/ready")
        assert response.status_code == 503
        assert "MisbehavingEnvironment" in response.json()["reasons"][0]


def test_a_full_server_is_not_ready() -> None:
    with (
        running_server("tests.support.apps.exclusive:app") as server,
        http_client(server) as client,
        frame_socket(server.ws_url) as socket,
    ):
        socket.reset()
        response = client.get("/ready")
        assert (response.status_code, response.json()["active_sessions"]) == (503, 1)


def test_a_constructor_that_hangs_does_not_hold_up_the_server() -> None:
    settings = {"TEST_CONSTRUCTOR": "hang", "OPENENV_GYM_RESET_TIMEOUT": "0.5"}
    with (
        running_server("tests.support.apps.misbehaving:app", env=settings) as server,
        http_client(server) as client,
        frame_socket(server.ws_url) as socket,
    ):
        assert client.get("/health").status_code == 200
        assert socket.receive()["data"]["code"] == "EXECUTION_ERROR"
        assert client.get("/ready").status_code == 503
