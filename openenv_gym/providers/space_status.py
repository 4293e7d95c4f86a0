"""What the Hub says of a Space while somebody waits for it."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from openenv_gym_protocol import errors

from openenv_gym.providers.base import SpaceAddress
from openenv_gym.providers.deadline import Deadline
from openenv_gym.transports.base import ConnectionOptions
from openenv_gym.transports.http import ask_route
from openenv_gym.transports.io_thread import io_thread

_logger = logging.getLogger("openenv_gym")

_OK, _UNAUTHORIZED, _NOT_FOUND = 200, 401, 404
_ASK_SECONDS = 10.0
_MAX_ANSWER_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Runtime:
    """What runs of a Space.

    Attributes:
        stage: Such as ``RUNNING``; None where the Hub does not say.
        sha: The commit that runs; None where the Hub does not say.
        problem: What the Hub says of a failure; mostly the last words of its log.
    """

    stage: str | None = None
    sha: str | None = None
    problem: str = ""

    @classmethod
    def of(cls, told: Any) -> Runtime:
        """Reads the Hub's answer, of which nothing is sure to be there."""
        told = told if isinstance(told, Mapping) else {}
        stage, sha, problem = (told.get(name) for name in ("stage", "sha", "errorMessage"))
        return cls(
            stage if isinstance(stage, str) else None,
            sha if isinstance(sha, str) else None,
            problem if isinstance(problem, str) else "",
        )


class SpaceStatus:
    """Asks the Hub for one Space: at first as anybody may, with the user's token only where that is not enough.

    Args:
        address: The Space.
        hub_token: Used in place of the token of this machine's user.
        deadline: Until when to ask.

    Attributes:
        base_url: Where the Space serves.
        headers: What a private Space asks for, with every request to it; empty for a public one, whose environment
            would be shown the token.
        runtime: What was told last.
        is_told: Whether the Hub has told anything.
    """

    def __init__(self, address: SpaceAddress, hub_token: str | None, deadline: Deadline) -> None:
        self.base_url = address.base_url
        self.headers: Mapping[str, str] = {}
        self.runtime = Runtime()
        self.is_told = False
        self._address = address
        self._given_token = hub_token
        self._token: str | None = None
        self._deadline = deadline

    def __repr__(self) -> str:
        return f"SpaceStatus({self._address.name}, {self.runtime.stage})"

    def begin(self) -> None:
        """Asks who the Space is: its host, whether it is private, what runs.

        Raises:
            SpaceNotFound: There is none, or the user may not see it.
            Unauthorized: The token is wrong, or the Space asks for one.
            ProtocolFailure: The Hub names a host that is no Space's.
        """
        if self._address.id is None:
            return
        found = self._ask(f"/api/spaces/{self._address.id}")
        if found is None:
            return
        self.is_told = True
        self.runtime = Runtime.of(found.get("runtime"))
        host = found.get("host")
        if isinstance(host, str) and host:
            self.base_url = self._checked(host)
        if found.get("private") is True and self._token is not None:
            self.headers = {"Authorization": f"Bearer {self._token}"}

    def look(self) -> Runtime:
        """What runs now; what was told last, when the Hub does not answer."""
        if self.is_told:
            told = self._ask(f"/api/spaces/{self._address.id}/runtime")
            self.runtime = self.runtime if told is None else Runtime.of(told)
        return self.runtime

    def commit_of(self, revision: str) -> str:
        """The full id of a revision's commit.

        Raises:
            ConfigurationError: The Space has no such revision.
            ProviderError: The Hub does not say.
        """
        path = f"/api/spaces/{self._address.id}/revision/{quote(revision, safe='')}"
        try:
            found = self._ask(path) if self._address.id is not None else None
        except errors.SpaceNotFound as error:
            raise errors.ConfigurationError(
                f"{self._address.name} has no revision {revision!r}. Its commits are at "
                f"{self._address.page_url}/commits."
            ) from error
        sha = (found or {}).get("sha")
        if not isinstance(sha, str):
            raise errors.ProviderError(
                f"The Hub does not say which commit of {self._address.name} {revision!r} is, so that it cannot be "
                "compared with what runs. Try again, or leave revision= out."
            )
        return sha

    def _ask(self, path: str) -> Mapping[str, Any] | None:
        """The Hub's answer; None when it cannot be reached or has no time."""
        status, answer = self._get(path)
        if status in (_UNAUTHORIZED, _NOT_FOUND) and self._token is None:
            self._token = self._given_token or self._address.hub_token()
            if self._token is None:
                raise errors.SpaceNotFound(
                    f"There is no Space {self._address.name}, or it is private. Check the name at "
                    f"{self._address.page_url}; for a private Space set HF_TOKEN or log in with `hf auth login`."
                )
            status, answer = self._get(path)
        if status == _UNAUTHORIZED:
            raise errors.Unauthorized(
                f"The Hub refused the token for {self._address.name}. Make another at "
                "https://huggingface.co/settings/tokens, and set HF_TOKEN or log in with `hf auth login`."
            )
        if status == _NOT_FOUND:
            raise errors.SpaceNotFound(
                f"There is no Space {self._address.name}, or the user of the Hub's token may not see it: check the "
                f"name and the token's rights."
            )
        return answer if status == _OK and isinstance(answer, Mapping) else None

    def _get(self, path: str) -> tuple[int, Any]:
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        options = ConnectionOptions(
            headers=headers,
            connect_timeout=max(self._deadline.remaining(at_most=_ASK_SECONDS), 0.1),
            max_frame_bytes=_MAX_ANSWER_BYTES,
        )
        try:
            return io_thread().run(ask_route(self._address.hub_url, path, options))
        except errors.Unauthorized:
            return _UNAUTHORIZED, None
        except errors.OpenEnvGymError as error:
            _logger.debug("the Hub does not tell of %s: %s", self._address.name, error)
            return 0, None

    def _checked(self, host: str) -> str:
        suffix = self._address.host_suffix
        try:
            parts = urlsplit(host)
            is_of_a_space = not suffix or (
                parts.scheme == "https" and not parts.port and _is_space_host(parts.netloc, suffix)
            )
        except ValueError:
            is_of_a_space = False
        if not is_of_a_space:
            raise errors.ProtocolFailure(
                f"The Hub says that {self._address.name} is at {host}, which is no address of a Space; nothing was "
                "sent there."
            )
        return f"{parts.scheme}://{parts.netloc}"


def _is_space_host(host: str, suffix: str) -> bool:
    return re.fullmatch(rf"[a-z0-9-]+{re.escape(suffix)}", host.lower()) is not None
