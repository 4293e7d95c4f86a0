"""How a request finds what answers it, and the Hub's ways of refusing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import quote

from tests.support.hub.state import Answer, Asked, Commit, HubState, Repo

Route: TypeAlias = Callable[..., Answer]

SPACE = r"(?P<id>[^/]+/[^/]+)"
REVISION = r"(?P<revision>[^/]+)"

_routes: list[tuple[str, re.Pattern[str], Route]] = []


class Refused(Exception):
    """Ends a route with an answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


def route(method: str, pattern: str) -> Callable[[Route], Route]:
    """Answers requests of a method whose path, with its escapes resolved, matches the whole pattern.

    The function gets the state, the request and the pattern's groups by name.
    """

    def register(answers: Route) -> Route:
        _routes.append((method, re.compile(pattern), answers))
        return answers

    return register


def answer_of(hub: HubState, asked: Asked) -> Answer:
    """What the Hub answers to a request."""
    fault = hub.fault_of(asked)
    if fault is not None:
        return fault
    if asked.token is not None and asked.token not in hub.people:
        return refusal(401, "Invalid credentials in Authorization header")
    for method, pattern, answers in _routes:
        match = pattern.fullmatch(asked.path)
        if match and method == asked.method:
            try:
                return answers(hub, asked, **match.groupdict())
            except Refused as refused:
                return refused.answer
    return refusal(404, f"Cannot {asked.method} {asked.path}")


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    """An error as the Hub writes it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    coded = {"X-Error-Code": code} if code else {}
    return Answer(status, {"error": message}, {"X-Error-Message": message, **coded, **named})


def readable(hub: HubState, asked: Asked, id: str) -> Repo:
    """The Space of an id, for somebody who may see it; those who may not are told as little as the Hub tells."""
    repo = hub.repos.get(id)
    if repo is None or not hub.may_read(repo, asked.token):
        if asked.token is None:
            raise Refused(refusal(401, "Invalid username or password.", "RepoNotFound"))
        raise Refused(refusal(404, "Repository not found", "RepoNotFound"))
    return repo


def writable(hub: HubState, asked: Asked, id: str) -> Repo:
    """The Space of an id, for somebody who may change it."""
    repo = readable(hub, asked, id)
    if not hub.may_write(repo, asked.token):
        raise Refused(refusal(403, "You don't have the rights to change this repository."))
    return repo


def commit_at(repo: Repo, revision: str) -> Commit:
    """The commit of a revision."""
    commit = repo.at(revision)
    if commit is None:
        raise Refused(refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound"))
    return commit


def paged(hub: HubState, asked: Asked, rows: list[object]) -> Answer:
    """One page of a listing, with the address of the next."""
    start = int(asked.one("cursor", "0"))
    count = min(int(asked.one("limit") or hub.page_size), hub.page_size)
    page = rows[start : start + count]
    if start + count >= len(rows):
        return Answer(200, page)
    kept = [f"{name}={quote(each)}" for name, values in asked.query.items() if name != "cursor" for each in values]
    url = f"{hub.url}{quote(asked.path)}?{'&'.join([*kept, f'cursor={start + count}'])}"
    return Answer(200, page, {"Link": f'<{url}>; rel="next"'})
