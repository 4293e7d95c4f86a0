"""The same HTTP requests to openenv's server and to this one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.better import BETTER_CALLS
from tests.interop.exchanges import CALLS, PRODUCTION_CALLS, Call
from tests.support.comparing import Compared, unexpected
from tests.support.wire import record_request

pytestmark = pytest.mark.interop

KINDS = ["our_servers", "ported_servers"]


def answer(base_url: str, call: Call, *, described: bool = True) -> dict[str, Any]:
    """What a server answers, without this project's own keys of the schema."""
    recorded = record_request(base_url, call.method, call.path, **call.content)
    if call.path == "/schema" and recorded["status"] == 200:
        body = {key: value for key, value in recorded["body"].items() if not key.startswith("x-")}
        recorded["body"] = body if described else without_descriptions(body)
    return recorded


def without_descriptions(schema: Any) -> Any:
    """A schema without its human text: that of the base models is this project's own in a ported environment."""
    if isinstance(schema, list):
        return [without_descriptions(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_descriptions(value) for key, value in schema.items() if key != "description"}


def test_every_written_difference_belongs_to_a_call() -> None:
    assert set(BETTER_CALLS) <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_answered_equally(
    kind: str, name: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    described = kind == "our_servers"
    stock = answer(stock_servers["probe_app"], CALLS[name], described=described)
    ours = answer(request.getfixturevalue(kind)["probe_app"], CALLS[name], described=described)
    assert unexpected([stock], [ours], BETTER_CALLS.get(name)) == []
    compared.add(1)


@pytest.mark.parametrize("name", PRODUCTION_CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_production_mode_hides_the_same_routes(
    kind: str, name: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    described = kind == "our_servers"
    stock = answer(stock_servers["production_app"], PRODUCTION_CALLS[name], described=described)
    ours = answer(request.getfixturevalue(kind)["production_app"], PRODUCTION_CALLS[name], described=described)
    assert unexpected([stock], [ours]) == []
    compared.add(1)


@pytest.mark.parametrize("name", ["metadata", "schema", "state"])
def test_an_environments_own_metadata_and_state_are_told_equally(
    name: str, stock_servers: dict[str, str], our_servers: dict[str, str], compared: Compared
) -> None:
    stock = answer(stock_servers["scored_app"], CALLS[name])
    ours = answer(our_servers["scored_app"], CALLS[name])
    assert unexpected([stock], [ours]) == []
    compared.add(1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_route_of_openenv_but_its_mcp_is_there(
    kind: str, stock_servers: dict[str, str], request: pytest.FixtureRequest, compared: Compared
) -> None:
    stock, ours = (
        record_request(servers["probe_app"], "GET", "/openapi.json")["body"]
        for servers in (stock_servers, request.getfixturevalue(kind))
    )
    routes = {(path, method) for path, methods in stock["paths"].items() for method in methods} - {("/mcp", "post")}
    assert routes <= {(path, method) for path, methods in ours["paths"].items() for method in methods}
    assert (ours["info"]["title"], ours["info"]["version"]) == (stock["info"]["title"], stock["info"]["version"])
    compared.add(len(routes))
