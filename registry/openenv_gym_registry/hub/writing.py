"""Writes to the Hub: a Space made, its secrets and variables set, its files made exactly those of a project."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]  # its __all__ leaves it out
from openenv_gym_protocol import errors

from openenv_gym_registry.hub.failures import TransportError, hub_failures
from openenv_gym_registry.hub.session import HubSession
from openenv_gym_registry.space_files import SpaceFile

_ATTEMPTS = 3
_LONGEST_WAIT = 120.0
"""Seconds that the Hub may ask to be left alone for; beyond it, its user is told instead."""

_OF_THE_HUB = frozenset({".gitattributes"})
"""Files that the Hub puts into a Space itself."""

_NOTHING_IGNORED = "# What is uploaded was chosen already.\n"
_CONFLICT, _MOVED = 409, 412


@dataclass(frozen=True)
class ExistingSpace:
    """A Space as it is before a push.

    Attributes:
        sha: Its newest commit.
        private: Whether only its owner sees it.
        files: The paths of its files, without those that the Hub puts there.
    """

    sha: str
    private: bool
    files: frozenset[str]


class _WithoutXet(errors.ConnectError):
    """Xet, where large files are kept, does not work here; the older way is tried at once."""


class SpaceWriter:
    """Changes one Space.

    Args:
        id: ``owner/name``.
        session: Who does.
    """

    def __init__(self, id: str, session: HubSession | None = None) -> None:
        self.id = id
        self._session = session or HubSession()
        self._what = f"the Space {id}"
        self._api = HfApi(endpoint=self._session.endpoint, token=self._session.token or False)

    def check_token(self) -> None:
        """Checks that there is a token.

        Raises:
            Unauthorized: There is none.
        """
        if self._session.token is None:
            raise errors.Unauthorized(
                f"The Hub has to know who you are, to write {self._what}: make a token that may write at "
                "https://huggingface.co/settings/tokens, and set HF_TOKEN or log in with `hf auth login`."
            )

    def existing(self) -> ExistingSpace | None:
        """The Space as it is; None where there is none that the user may see.

        Raises:
            OpenEnvGymError: See ``hub_failures``.
        """
        try:
            told = json.loads(self._session.get(f"/api/spaces/{self.id}", what=self._what).body or b"null")
            files = {row["rfilename"] for row in told["siblings"]}
            return ExistingSpace(told["sha"], told.get("private") is True, frozenset(files - _OF_THE_HUB))
        except errors.SpaceNotFound:
            return None
        except (ValueError, LookupError, TypeError) as error:
            raise errors.ProtocolFailure(f"The Hub's answer for {self._what} cannot be read: {error!r}") from error

    def create(self, *, private: bool | None) -> None:
        """Makes the Space, without files.

        Args:
            private: Whether only its owner sees it; None: as its owner's settings on the Hub say.

        Raises:
            ConfigurationError: There is one already.
            OpenEnvGymError: See ``hub_failures``.
        """
        with hub_failures(self._what), _taken(self.id):
            self._api.create_repo(self.id, repo_type="space", space_sdk="docker", private=private)

    def configure(self, secrets: Mapping[str, str], variables: Mapping[str, str]) -> None:
        """Sets what the server finds in its environment; others that are set stay.

        Raises:
            OpenEnvGymError: See ``hub_failures``.
        """
        with hub_failures(f"{self._what}'s settings"):
            for name, value in secrets.items():
                self._api.add_space_secret(self.id, name, value)
            for name, value in variables.items():
                self._api.add_space_variable(self.id, name, value)

    def fork_of(
        self, original: str, *, private: bool | None, secrets: Mapping[str, str], variables: Mapping[str, str]
    ) -> None:
        """Makes the Space as a copy of another one.

        Raises:
            ConfigurationError: There is one already.
            OpenEnvGymError: See ``hub_failures``.
        """
        # Earlier releases have it by another name, for Spaces alone.
        by_type = getattr(self._api, "duplicate_repo", None)
        duplicate: Any = by_type or getattr(self._api, "duplicate_space")  # noqa: B009  (which of the two is there)
        options = {"repo_type": "space"} if by_type else {}
        with hub_failures(f"the Space {original}"), _taken(self.id):
            duplicate(
                original,
                self.id,
                private=private,
                space_secrets=_named(secrets),
                space_variables=_named(variables),
                **options,
            )

    def upload(self, files: Sequence[SpaceFile], message: str, tell: Callable[[str], None]) -> str:
        """Makes the Space's files exactly these, in one commit: all of them or none.

        A connection that drops is tried again. What has arrived by then is not sent anew, nor by a later push.

        Args:
            files: The files.
            message: What the commit says.
            tell: Told why it is tried again.

        Returns:
            The commit; the newest one where nothing has changed.

        Raises:
            OpenEnvGymError: See ``hub_failures``; the Space is as it was.
        """
        disable_progress_bars()
        attempt = 1
        while True:
            try:
                with hub_failures(self._what), _upload_failures(self._what):
                    return self._commit(files, message)
            except _WithoutXet as error:  # once: it is switched off then
                tell(f"{error.message} It is sent another way.")
            except (errors.ConnectError, errors.ConnectTimeout, errors.RateLimited) as error:
                wait = _wait_before_next(error, attempt)
                if wait is None:
                    raise _unfinished(error) from error
                tell(f"{error.message} Trying again in {wait:g} s ({attempt} of {_ATTEMPTS - 1}).")
                time.sleep(wait)
                attempt += 1

    def _commit(self, files: Sequence[SpaceFile], message: str) -> str:
        # Asked anew by each attempt: the commit may have been made, and only its answer been lost.
        before = self.existing()
        additions = [CommitOperationAdd(file.path, str(file.source)) for file in files]
        gone = _gone(before, {file.path for file in files})
        deletions = [CommitOperationDelete(path, is_folder=False) for path in gone]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the library's, of a README that check_card has found good
            # The Hub drops what the Space's .gitignore names, without a word: the wheels in vendor/ among it.
            self._api.preupload_lfs_files(
                self.id, additions, repo_type="space", gitignore_content=_NOTHING_IGNORED, free_memory=False
            )
            made = self._api.create_commit(
                self.id,
                [*additions, *deletions],
                repo_type="space",
                commit_message=message,
                parent_commit=None if before is None else before.sha,
            )
        return str(made.oid)


def removed_by(existing: ExistingSpace | None, files: Sequence[SpaceFile]) -> list[str]:
    """What of a Space's files an upload removes."""
    return _gone(existing, {file.path for file in files})


def _gone(existing: ExistingSpace | None, kept: Collection[str]) -> list[str]:
    return [] if existing is None else sorted(existing.files - set(kept))


def _named(values: Mapping[str, str]) -> list[dict[str, str]] | None:
    return [{"key": name, "value": value} for name, value in values.items()] or None


@contextmanager
def _taken(id: str) -> Iterator[None]:
    try:
        yield
    except HfHubHTTPError as error:
        if error.response.status_code != _CONFLICT:
            raise
        raise errors.ConfigurationError(f"There is a Space {id} already: choose another name.") from error


@contextmanager
def _upload_failures(what: str) -> Iterator[None]:
    """What of an upload is no answer of the Hub and no broken request: the ways that large files take."""
    try:
        yield
    except HfHubHTTPError as error:
        if error.response.status_code != _MOVED:
            raise
        raise errors.ConfigurationError(
            f"Somebody else has changed {what} meanwhile, so nothing was uploaded. See what they did, and push again."
        ) from error
    except ValueError as error:
        raise errors.ConfigurationError(f"The Hub does not take the files of {what}: {error}") from error
    except (FileNotFoundError, PermissionError) as error:
        raise errors.ConfigurationError(f"A file cannot be read any more, so nothing was uploaded: {error}") from error
    except (RuntimeError, OSError) as error:
        if isinstance(error.__cause__, TransportError):
            raise error.__cause__ from None
        told = f"A large file of {what} could not be uploaded: {error}."
        if constants.HF_HUB_DISABLE_XET:
            raise errors.ConnectError(told) from error
        # Xet's own failures have no classes; the way through the Hub itself is left.
        constants.HF_HUB_DISABLE_XET = True
        raise _WithoutXet(told) from error


def _wait_before_next(error: errors.OpenEnvGymError, attempt: int) -> float | None:
    """Seconds until it is worth trying again; None: it is not."""
    cause = error.__cause__
    is_refusal = isinstance(cause, HfHubHTTPError) and cause.response.status_code < 500
    if attempt == _ATTEMPTS or (is_refusal and not isinstance(error, errors.RateLimited)):
        return None
    told = error.retry_after if isinstance(error, errors.RateLimited) else None
    wait = 2.0 ** (attempt - 1) if told is None else told
    return wait if wait <= _LONGEST_WAIT else None


def _unfinished(error: errors.OpenEnvGymError) -> errors.OpenEnvGymError:
    told = f"{error.message} The Space is as it was; push again, and what has arrived is not sent anew."
    if isinstance(error, errors.RateLimited):
        return errors.RateLimited(told, retry_after=error.retry_after)
    return type(error)(told)
