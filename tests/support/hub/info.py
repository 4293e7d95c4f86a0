"""What the Hub tells of Spaces: one by one, listed, and of whoever asks."""

from __future__ import annotations

from typing import Any

from tests.support.hub.routes import SPACE, commit_at, paged, readable, refusal, route
from tests.support.hub.state import CREATED, Answer, Asked, Commit, HubState, Repo


@route("GET", "/api/spaces")
def list_spaces(hub: HubState, asked: Asked) -> Answer:
    wanted = {tag for value in asked.query.get("filter", []) for tag in value.split(",")}
    author, words = asked.one("author"), asked.one("search").lower()
    found = [
        repo
        for repo in hub.repos.values()
        if wanted <= set(repo.tags)
        and author in ("", repo.author)
        and words in repo.id.lower()
        and hub.may_read(repo, asked.token)
    ]
    if asked.one("sort") == "likes":
        found.sort(key=lambda repo: -repo.likes)
    return paged(hub, asked, [_told(asked, hub, repo, repo.head, is_listed=True) for repo in found])


@route("GET", f"/api/spaces/{SPACE}")
def space_info(hub: HubState, asked: Asked, id: str) -> Answer:
    repo = readable(hub, asked, id)
    return Answer(200, _told(asked, hub, repo, repo.head))


@route("GET", f"/api/spaces/{SPACE}/revision/(?P<revision>.+)")
def space_info_at(hub: HubState, asked: Asked, id: str, revision: str) -> Answer:
    repo = readable(hub, asked, id)
    return Answer(200, _told(asked, hub, repo, commit_at(repo, revision)))


@route("GET", f"/api/spaces/{SPACE}/runtime")
def space_runtime(hub: HubState, asked: Asked, id: str) -> Answer:
    repo = readable(hub, asked, id)
    repo.next_stage()
    return Answer(200, repo.runtime)


@route("GET", f"/api/spaces/{SPACE}/refs")
def refs(hub: HubState, asked: Asked, id: str) -> Answer:
    repo = readable(hub, asked, id)
    branches = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha} for name, sha in repo.branches.items()]
    return Answer(200, {"branches": branches, "converts": [], "tags": [], "pullRequests": []})


@route("GET", "/api/whoami-v2")
def whoami(hub: HubState, asked: Asked) -> Answer:
    if asked.token is None:
        return refusal(401, "Invalid username or password.")
    name = hub.people[asked.token]
    orgs = [{"type": "org", "name": org, "roleInOrg": "admin"} for org in hub.orgs.get(name, [])]
    access = {"displayName": "test", "role": "write"}
    return Answer(200, {"type": "user", "name": name, "orgs": orgs, "auth": {"accessToken": access}})


def _told(asked: Asked, hub: HubState, repo: Repo, commit: Commit, *, is_listed: bool = False) -> dict[str, Any]:
    subdomain = repo.id.lower().replace("/", "-").replace("_", "-").replace(".", "-")
    whole = {
        "_id": repo.id.encode().hex().ljust(24, "0")[:24],
        "id": repo.id,
        "author": repo.author,
        "sha": commit.sha,
        "createdAt": CREATED,
        "lastModified": repo.updated,
        "private": repo.private,
        "gated": "manual" if repo.gated else False,
        "disabled": False,
        "host": repo.host or f"https://{subdomain}.hf.space",
        "subdomain": subdomain,
        "tags": repo.tags,
        "likes": repo.likes,
        "sdk": repo.sdk,
        "cardData": {"title": repo.title or repo.id, "sdk": repo.sdk, "tags": repo.tags},
        "runtime": repo.runtime,
        "models": [],
        "datasets": [],
        "siblings": [{"rfilename": path} for path in sorted(commit.files)],
    }
    if wanted := asked.query.get("expand"):
        return {name: value for name, value in whole.items() if name in {"_id", "id", *wanted}}
    return {name: value for name, value in whole.items() if not is_listed or name not in {"siblings", "runtime"}}
