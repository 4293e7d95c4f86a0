"""Checks of the HTTP pages."""

from __future__ import annotations

from typing import Any

import httpx

from openenv_gym.testing.conformance.checks import NotApplicable, check, require, require_object
from openenv_gym.testing.conformance.server import Server

_SCHEMAS = ("action", "observation", "state")
_NOT_FOUND = 404
_INVALID = 422
_ENVELOPE = {"observation", "reward", "done"}


@check("wire")
def health_page(server: Server) -> None:
    """``GET /health`` answers 200 with ``{"status": "healthy"}``."""
    body = _object(server.ask("GET", "/health"), "GET /health")
    require(body.get("status") == "healthy", f"GET /health says the status {body.get('status')!r}.")


@check("wire")
def metadata_page(server: Server) -> str:
    """``GET /metadata`` answers 200 with a name and a description."""
    body = _object(server.ask("GET", "/metadata"), "GET /metadata")
    for key in ("name", "description"):
        require(isinstance(body.get(key), str), f"GET /metadata has no text under {key!r}.")
    return str(body["name"])


@check("wire")
def schema_page(server: Server) -> None:
    """``GET /schema`` answers 200 with the JSON Schemas of action, observation and state."""
    body = _object(server.ask("GET", "/schema"), "GET /schema")
    for key in _SCHEMAS:
        require(isinstance(body.get(key), dict), f"GET /schema has no object under {key!r}.")


@check("wire")
def reset_page(server: Server) -> None:
    """``POST /reset`` answers an observation, and 422 to a body that is none; production mode has no such page."""
    answer = _control_page(server, "POST", "/reset", json={})
    body = _object(answer, "POST /reset")
    require(body.keys() >= _ENVELOPE, f"POST /reset answers without {sorted(_ENVELOPE - body.keys())}.")
    _require_invalid(server.ask("POST", "/reset", json=[1]), "POST /reset with a list")


@check("wire")
def step_page(server: Server) -> None:
    """``POST /step`` takes an action, and answers 422 where there is none; production mode has no such page."""
    _require_invalid(_control_page(server, "POST", "/step", json={}), "POST /step without an action")


@check("wire")
def state_page(server: Server) -> None:
    """``GET /state`` answers 200 with the step count; production mode has no such page."""
    body = _object(_control_page(server, "GET", "/state"), "GET /state")
    require("step_count" in body, "GET /state has no step_count.")


def _control_page(server: Server, method: str, path: str, **content: Any) -> httpx.Response:
    answer = server.ask(method, path, **content)
    if answer.status_code == _NOT_FOUND:
        raise NotApplicable(f"there is no {path}, as in production mode")
    return answer


def _require_invalid(answer: httpx.Response, request: str) -> None:
    require(answer.status_code == _INVALID, f"{request} is answered with HTTP {answer.status_code}, not {_INVALID}.")


def _object(answer: httpx.Response, request: str) -> dict[str, Any]:
    require(
        answer.status_code == httpx.codes.OK,
        f"{request} answers HTTP {answer.status_code}: {answer.text:.200}",
        "Look into the server's log.",
    )
    try:
        body = answer.json()
    except ValueError:
        body = None
    return require_object(body, f"{request} answers no JSON object: {answer.text:.200}")
