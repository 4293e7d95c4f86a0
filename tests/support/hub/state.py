"""What the stand-in Hub holds: Spaces with their commits, people with their tokens, and what is to go wrong."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

CREATED = "2026-01-01T00:00:00.000Z"
OWNER_TOKEN = "hf_ownersToken"
OTHER_TOKEN = "hf_someoneElsesToken"


@dataclass(frozen=True)
class Commit:
    """A commit: its id, and all files of the tree by path."""

    sha: str
    files: Mapping[str, bytes]
    title: str = "commit"


@dataclass
class Repo:
    """A Space's repository and what runs of it."""

    id: str
    commits: list[Commit] = field(default_factory=list)
    branches: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=lambda: ["docker", "openenv"])
    title: str = ""
    likes: int = 0
    private: bool = False
    gated: bool = False
    sdk: str = "docker"
    host: str | None = None
    updated: str = CREATED
    runtime: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    coming: list[str] = field(default_factory=list)

    @property
    def author(self) -> str:
        return self.id.partition("/")[0]

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def commit(self, files: Mapping[str, bytes | str], title: str = "commit") -> Commit:
        """Makes a commit whose tree is exactly these files."""
        whole = {path: each.encode() if isinstance(each, str) else each for path, each in files.items()}
        told = f"{self.id}{len(self.commits)}{sorted(whole.items())}"
        made = Commit(hashlib.sha1(told.encode()).hexdigest(), whole, title)
        self.commits.append(made)
        self.branches["main"] = made.sha
        return made

    def begin(self, stages: Iterable[str]) -> None:
        """Has the newest commit go through stages, one each time that somebody asks what runs."""
        self.coming = list(stages)
        self.next_stage()

    def next_stage(self) -> None:
        """Goes to the next stage, if one is to come."""
        if self.coming:
            self.runtime["stage"] = self.coming.pop(0)
            self.runtime["sha"] = self.head.sha

    def at(self, revision: str) -> Commit | None:
        """The commit of a branch, a full id or the first letters of one."""
        sha = self.branches.get(revision, revision)
        return next((each for each in self.commits if len(sha) >= 7 and each.sha.startswith(sha)), None)


@dataclass(frozen=True)
class Asked:
    """A request as it came.

    Attributes:
        token: The bearer token, or None.
    """

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def token(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() == "bearer" else None

    def one(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self.query.get(name, [default])[-1]

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is answered: bytes as they are, all else as JSON. Status 0 ends the connection without a word."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


DROPPED = Answer(status=0)
"""The connection ends without an answer."""


@dataclass
class _Fault:
    applies: Callable[[Asked], bool]
    answer: Answer
    times: int


class HubState:
    """The whole of it. Read and written under its lock by the server's threads; a test may do so between requests.

    Attributes:
        url: Where it is served: what ``HF_ENDPOINT`` says.
        repos: The Spaces by id.
        people: The names of the people by token.
        asked: Every request that came.
        page_size: How many entries a page of a listing has at most.
        large: The content of large files by their SHA-256.
        stages: What a Space goes through after a commit.
        on_commit: Called with the Space after a commit.
    """

    def __init__(self) -> None:
        self.url = ""
        self.repos: dict[str, Repo] = {}
        self.people = {OWNER_TOKEN: "ann", OTHER_TOKEN: "bob"}
        self.orgs: dict[str, list[str]] = {"ann": ["openenv"]}
        self.asked: list[Asked] = []
        self.page_size = 100
        self.large: dict[str, bytes] = {}
        self.stages = ["BUILDING", "APP_STARTING", "RUNNING"]
        self.on_commit: Callable[[Repo], object] = repr
        self.lock = threading.RLock()
        self._faults: list[_Fault] = []

    def add(self, id: str, files: Mapping[str, bytes | str] | None = None, **rest: Any) -> Repo:
        """Adds a Space with one commit that runs."""
        repo = Repo(id, **rest)
        repo.commit(files or {"README.md": "---\ntitle: A Space\n---\n"})
        repo.runtime = {"hardware": {"current": "cpu-basic", "requested": "cpu-basic"}, "gcTimeout": 172800}
        repo.runtime |= {"stage": "RUNNING", "sha": repo.head.sha}
        self.repos[id] = repo
        return repo

    def fail(self, path: str, answer: Answer, *, times: int = 1, method: str | None = None) -> None:
        """Has the next requests whose path begins so answered otherwise."""

        def applies(asked: Asked) -> bool:
            return asked.path.startswith(path) and method in (None, asked.method)

        self._faults.append(_Fault(applies, answer, times))

    def fault_of(self, asked: Asked) -> Answer | None:
        """What was ordered for this request."""
        for fault in self._faults:
            if fault.times > 0 and fault.applies(asked):
                fault.times -= 1
                return fault.answer
        return None

    def asked_for(self, path: str) -> list[Asked]:
        """The requests so far whose path begins so."""
        return [each for each in self.asked if each.path.startswith(path)]

    def may_read(self, repo: Repo, token: str | None) -> bool:
        return not repo.private or self.may_write(repo, token)

    def may_write(self, repo: Repo, token: str | None) -> bool:
        person = self.people.get(token or "")
        return person is not None and repo.author in (person, *self.orgs.get(person, ()))
