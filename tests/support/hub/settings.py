"""Spaces made, copied and set: visibility, secrets and variables."""

from __future__ import annotations

from typing import Any

from tests.support.hub.routes import SPACE, readable, refusal, route, writable
from tests.support.hub.state import Answer, Asked, HubState, Repo

_HUBS_OWN = {".gitattributes": b"*.whl filter=lfs diff=lfs merge=lfs -text\n"}


@route("POST", "/api/repos/create")
def create(hub: HubState, asked: Asked) -> Answer:
    told = asked.json()
    refused = _refused(hub, asked, f"{told['organization']}/{told['name']}")
    if refused is not None:
        return refused
    repo = hub.add(f"{told['organization']}/{told['name']}", _HUBS_OWN, private=told.get("visibility") == "private")
    repo.runtime["stage"] = "NO_APP_FILE"
    return Answer(200, {"url": f"{hub.url}/spaces/{repo.id}"})


@route("POST", f"/api/spaces/{SPACE}/duplicate")
def duplicate(hub: HubState, asked: Asked, id: str) -> Answer:
    original, told = readable(hub, asked, id), asked.json()
    refused = _refused(hub, asked, told["repository"])
    if refused is not None:
        return refused
    private = told["visibility"] == "private" if "visibility" in told else original.private
    copy = hub.add(told["repository"], original.head.files, title=original.title, private=private)
    copy.secrets = {each["key"]: each["value"] for each in told.get("secrets", [])}
    copy.variables = {each["key"]: {"value": each["value"]} for each in told.get("variables", [])}
    copy.begin(hub.stages)
    hub.on_commit(copy)
    return Answer(200, {"url": f"{hub.url}/spaces/{copy.id}"})


@route("PUT", f"/api/spaces/{SPACE}/settings")
def change_settings(hub: HubState, asked: Asked, id: str) -> Answer:
    repo = writable(hub, asked, id)
    repo.private = asked.json().get("visibility") == "private"
    return Answer(200, {"private": repo.private})


@route("POST", f"/api/spaces/{SPACE}/secrets")
def set_secret(hub: HubState, asked: Asked, id: str) -> Answer:
    told = asked.json()
    writable(hub, asked, id).secrets[told["key"]] = told["value"]
    return Answer(200, {})


@route("POST", f"/api/spaces/{SPACE}/variables")
def set_variable(hub: HubState, asked: Asked, id: str) -> Answer:
    repo, told = writable(hub, asked, id), asked.json()
    repo.variables[told["key"]] = {"value": told["value"]}
    return Answer(200, repo.variables)


@route("GET", f"/api/spaces/{SPACE}/variables")
def variables(hub: HubState, asked: Asked, id: str) -> Answer:
    return Answer(200, writable(hub, asked, id).variables)


def _refused(hub: HubState, asked: Asked, id: str) -> Answer | None:
    """Why a Space of that name cannot be made by whoever asks."""
    if asked.token is None:
        return refusal(401, "Invalid username or password.")
    if not hub.may_write(Repo(id), asked.token):
        return refusal(403, f"You don't have the rights to create a Space under the namespace {id.split('/')[0]!r}.")
    if id in hub.repos:
        taken: dict[str, Any] = {"error": "You already created this space repo", "url": f"{hub.url}/spaces/{id}"}
        return Answer(409, taken)
    return None
