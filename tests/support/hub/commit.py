"""Commits: what the Hub wants of each file, large files by way of LFS, and the commit itself."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from tests.support.hub.files import blob_id
from tests.support.hub.routes import REVISION, SPACE, Refused, refusal, route, writable
from tests.support.hub.state import Answer, Asked, HubState

_LARGE = (".whl", ".bin")


@route("POST", "/api/validate-yaml")
def validate_yaml(hub: HubState, asked: Asked) -> Answer:
    return Answer(200, {"errors": [], "warnings": []})


@route("POST", f"/api/spaces/{SPACE}/preupload/{REVISION}")
def preupload(hub: HubState, asked: Asked, id: str, revision: str) -> Answer:
    repo = writable(hub, asked, id)
    told = asked.json()
    files = repo.head.files if repo.commits else {}
    ignoring = told.get("gitIgnore", files.get(".gitignore", b"").decode())
    ignored = [line.rstrip("/") for line in ignoring.splitlines()]
    rows = []
    for file in told["files"]:
        path = file["path"]
        mode = "lfs" if path.endswith(_LARGE) else "regular"
        row: dict[str, Any] = {"path": path, "uploadMode": mode}
        row["shouldIgnore"] = bool(set(path.split("/")) & set(ignored))
        if path in files:
            row["oid"] = _sha256(files[path]) if mode == "lfs" else blob_id(files[path])
        rows.append(row)
    return Answer(200, {"files": rows})


@route("GET", f"/api/spaces/{SPACE}/xet-write-token/{REVISION}")
def xet_token(hub: HubState, asked: Asked, id: str, revision: str) -> Answer:
    """There is no Xet here: whoever wants it has to go the other way."""
    writable(hub, asked, id)
    return refusal(404, "Xet is not enabled for this repository.")


@route("POST", f"/spaces/{SPACE}\\.git/info/lfs/objects/batch")
def lfs_batch(hub: HubState, asked: Asked, id: str) -> Answer:
    writable(hub, asked, id)
    objects = []
    for wanted in asked.json()["objects"]:
        row: dict[str, Any] = {"oid": wanted["oid"], "size": wanted["size"]}
        if wanted["oid"] not in hub.large:
            row["actions"] = {"upload": {"href": f"{hub.url}/lfs/{wanted['oid']}"}}
            row["actions"]["verify"] = {"href": f"{hub.url}/lfs/{wanted['oid']}/verify"}
        objects.append(row)
    return Answer(200, {"transfer": "basic", "objects": objects})


@route("PUT", "/lfs/(?P<oid>[0-9a-f]{64})")
def lfs_put(hub: HubState, asked: Asked, oid: str) -> Answer:
    if _sha256(asked.body) != oid:
        return refusal(400, "Content does not match its id")
    hub.large[oid] = asked.body
    return Answer(200)


@route("POST", "/lfs/(?P<oid>[0-9a-f]{64})/verify")
def lfs_verify(hub: HubState, asked: Asked, oid: str) -> Answer:
    is_there = oid in hub.large and len(hub.large[oid]) == asked.json()["size"]
    return Answer(200, {}) if is_there else refusal(404, "Object not found")


@route("POST", f"/api/spaces/{SPACE}/commit/{REVISION}")
def commit(hub: HubState, asked: Asked, id: str, revision: str) -> Answer:
    repo = writable(hub, asked, id)
    lines = [json.loads(line) for line in asked.body.splitlines()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    if header.get("parentCommit") not in (None, repo.head.sha):
        return refusal(412, "A commit has happened since. Please refresh and try again.")
    files = dict(repo.head.files)
    for line in lines:
        _change(hub, files, line["key"], line["value"])
    made = repo.commit(files, header["summary"])
    repo.begin(hub.stages)
    hub.on_commit(repo)
    told = {"success": True, "commitOid": made.sha, "commitUrl": f"{hub.url}/spaces/{id}/commit/{made.sha}"}
    return Answer(200, {**told, "hookOutput": "", "pullRequestUrl": None})


def _change(hub: HubState, files: dict[str, bytes], kind: str, told: Any) -> None:
    if kind == "file":
        files[told["path"]] = base64.b64decode(told["content"])
    elif kind == "lfsFile":
        if told["oid"] not in hub.large:
            raise Refused(refusal(400, f"LFS object {told['oid']} was not uploaded"))
        files[told["path"]] = hub.large[told["oid"]]
    elif kind == "deletedFile" and files.pop(told["path"], None) is None:
        raise Refused(refusal(404, "A file with this name doesn't exist", "EntryNotFound"))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
