"""The files of a Space at a revision: listed, and read with their ETag."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.support.hub.routes import REVISION, SPACE, Refused, commit_at, paged, readable, refusal, route
from tests.support.hub.state import Answer, Asked, HubState, Repo


@route("GET", f"/api/spaces/{SPACE}/tree/{REVISION}(?:/(?P<folder>.+))?")
def tree(hub: HubState, asked: Asked, id: str, revision: str, folder: str | None) -> Answer:
    repo = readable(hub, asked, id)
    files = commit_at(repo, revision).files
    inside = f"{folder.rstrip('/')}/" if folder else ""
    below = {path: data for path, data in files.items() if path.startswith(inside)}
    if not below:
        return refusal(404, f"{folder} does not exist on {revision}", "EntryNotFound")
    rows: dict[str, Any] = {}
    for path, data in sorted(below.items()):
        parts = path.removeprefix(inside).split("/")
        for depth in range(1, len(parts)):
            parent = inside + "/".join(parts[:depth])
            rows[parent] = {"type": "directory", "oid": blob_id(parent.encode()), "size": 0, "path": parent}
        rows[path] = {"type": "file", "oid": blob_id(data), "size": len(data), "path": path}
    if asked.one("recursive").lower() not in ("1", "true"):
        rows = {path: row for path, row in rows.items() if "/" not in path.removeprefix(inside)}
    return paged(hub, asked, list(rows.values()))


@route("GET", f"/spaces/{SPACE}/(?:resolve|raw)/{REVISION}/(?P<path>.+)")
def resolve(hub: HubState, asked: Asked, id: str, revision: str, path: str) -> Answer:
    repo = readable(hub, asked, id)
    _check_gate(hub, asked, repo)
    commit = commit_at(repo, revision)
    data = commit.files.get(path)
    if data is None:
        raise Refused(refusal(404, "Entry not found", "EntryNotFound", X_Repo_Commit=commit.sha))
    told = {"ETag": f'"{blob_id(data)}"', "X-Repo-Commit": commit.sha, "Content-Type": "text/plain; charset=utf-8"}
    return Answer(200, data, told)


@route("HEAD", f"/spaces/{SPACE}/resolve/{REVISION}/(?P<path>.+)")
def resolve_head(hub: HubState, asked: Asked, id: str, revision: str, path: str) -> Answer:
    return resolve(hub, asked, id, revision, path)


def blob_id(data: bytes) -> str:
    """The id that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _check_gate(hub: HubState, asked: Asked, repo: Repo) -> None:
    if repo.gated and not hub.may_write(repo, asked.token):
        status = 401 if asked.token is None else 403
        raise Refused(refusal(status, f"Access to {repo.id} is restricted.", "GatedRepo"))
