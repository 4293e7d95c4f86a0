"""Putting an environment project into a Space: what would change, and doing it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openenv_gym_protocol.errors import ConfigurationError, ServerStartError

from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.docker.vendored import own_wheel
from openenv_gym.providers.space_status import SpaceStatus
from openenv_gym.providers.space_waking import FAILED_STAGES, wait_for_space
from openenv_gym_registry.hub import require_hub
from openenv_gym_registry.manifest import read_manifest
from openenv_gym_registry.source import parse_space, space_with_id
from openenv_gym_registry.space_address import address_of, hub_token
from openenv_gym_registry.space_files import SpaceFile, space_files

if TYPE_CHECKING:
    from openenv_gym_registry.hub.writing import SpaceWriter

_PAUSE = 1.0
_GRACE = 30.0
"""Seconds within which the Hub must have begun with a commit; until then, what it says may be of the one before."""


@dataclass(frozen=True)
class PushPlan:
    """What a push does.

    Attributes:
        space: ``owner/name``.
        files: What the Space has afterwards.
        removed: What it has now, and not afterwards.
        is_new: Whether it is made.
        private: What visibility it is made with, None for its owner's habit; or what it has.
    """

    space: str
    files: tuple[SpaceFile, ...]
    removed: tuple[str, ...]
    is_new: bool
    private: bool | None
    _writer: SpaceWriter = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def check_token(self) -> None:
        """Checks that there is a token to do it with.

        Raises:
            Unauthorized: There is none.
        """
        self._writer.check_token()


def plan_push(
    folder: Path,
    space: str,
    *,
    private: bool | None = None,
    allowed: Collection[str] = (),
    secrets: Mapping[str, str] | None = None,
) -> PushPlan:
    """What pushing a project would do. Nothing is changed anywhere.

    Args:
        folder: The project's folder.
        space: ``owner/name``.
        private: The visibility of a Space that is made; one that there is has to have it already.
        allowed: Paths of files that look like secrets and are none.
        secrets: What the Space will have as secrets: no file may hold one's value.

    Raises:
        ConfigurationError: See ``space_files``; or the Space has another visibility.
        OpenEnvGymError: The Hub cannot be asked.
    """
    id = space_id(space)
    require_hub()
    from openenv_gym_registry.hub.writing import SpaceWriter, removed_by

    token = hub_token()
    known = [*(secrets or {}).values(), *([token] if token else [])]
    port = read_manifest(folder).port
    # The wheel is made last: it takes seconds, and mistakes are told before.
    space_files(folder, port, allowed=allowed, known=known)
    writer = SpaceWriter(id)
    existing = writer.existing()
    if existing is not None and private not in (None, existing.private):
        raise ConfigurationError(_other_visibility(id, is_private=existing.private))
    files = space_files(folder, port, wheel=own_wheel(), allowed=allowed, known=known)
    is_private = private if existing is None else existing.private
    return PushPlan(id, files, tuple(removed_by(existing, files)), existing is None, is_private, writer)


def push(
    plan: PushPlan,
    message: str,
    *,
    secrets: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    tell: Callable[[str], None],
) -> str:
    """Does what was planned: makes the Space, sets its secrets and variables, and uploads.

    Args:
        plan: The plan.
        message: What the commit says.
        secrets: By name.
        variables: By name.
        tell: Told what is being done.

    Returns:
        The commit.

    Raises:
        Unauthorized: There is no token, or it may not do that.
        OpenEnvGymError: The Hub fails; the Space's files are as they were.
    """
    plan.check_token()
    if plan.is_new:
        tell(f"making {plan.space}")
        plan._writer.create(private=plan.private)
    # Before the upload: the server that is built of it finds them at its start.
    plan._writer.configure(secrets or {}, variables or {})
    tell(f"uploading {len(plan.files)} files")
    return plan._writer.upload(plan.files, message, tell)


def fork(
    original: str,
    space: str,
    *,
    private: bool | None = None,
    secrets: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Copies a Space, as it is now, into one of your own.

    Args:
        original: The Space in any way that people write one.
        space: ``owner/name`` of the copy.
        private: Whether only its owner sees it; None: as the original.
        secrets: The copy's own, by name; the original's are not copied.
        variables: The copy's own, by name.

    Returns:
        The copy's id.

    Raises:
        ConfigurationError: A revision is named, or there is a Space of the copy's name.
        OpenEnvGymError: The Hub refuses or cannot be asked.
    """
    (named, original_id), id = space_with_id(original), space_id(space)
    if named.revision is not None:
        raise ConfigurationError(
            f"A fork has what the Space has now: leave @{named.revision} out, or pull that revision and push it."
        )
    require_hub()
    from openenv_gym_registry.hub.writing import SpaceWriter

    writer = SpaceWriter(id)
    writer.check_token()
    writer.fork_of(original_id, private=private, secrets=secrets or {}, variables=variables or {})
    return id


def wait_until_running(space: str, commit: str | None, seconds: float, tell: Callable[[str], None]) -> SpaceStatus:
    """Waits until a Space runs a commit and its environment answers.

    Args:
        space: ``owner/name``.
        commit: The commit; None: whatever it has.
        seconds: How long at most.
        tell: Told each stage.

    Returns:
        Where it serves, and what it wants with each request.

    Raises:
        ServerStartError: It failed, or does not run in time.
        OpenEnvGymError: The Hub or the Space cannot be asked.
    """
    address, deadline = address_of(space), Deadline(seconds)
    status = SpaceStatus(address, None, deadline)
    status.begin()
    grace, stages = Deadline(_GRACE), [""]
    while commit is not None:
        has_begun = grace.passed or any(stage not in ("", "RUNNING", *FAILED_STAGES) for stage in stages)
        if _is_settled(status, commit, has_begun=has_begun):
            break
        if status.runtime.stage not in (None, stages[-1]):
            stages.append(str(status.runtime.stage))
            tell(stages[-1])
        if deadline.passed:
            raise ServerStartError(
                f"{space} has the commit, but did not run it within {seconds:g} s: its stage is "
                f"{status.runtime.stage or 'unknown'}. Watch it at {address.page_url}?logs=build, or raise --timeout."
            )
        time.sleep(deadline.remaining(at_most=_PAUSE))
        status.look()
    wait_for_space(address, status, deadline, tell)
    return status


def _is_settled(status: SpaceStatus, commit: str, *, has_begun: bool) -> bool:
    """Whether what the Hub says is of the commit, and no waiting changes it; it may yet say what was before."""
    runtime = status.runtime
    if runtime.stage == "RUNNING":
        return runtime.sha == commit or (runtime.sha is None and has_begun)
    return runtime.stage in FAILED_STAGES and (runtime.sha == commit or has_begun)


def space_id(text: str) -> str:
    """``owner/name`` of a Space that is to be written.

    Raises:
        ConfigurationError: It is none, or has a revision.
    """
    space = parse_space(text)
    if space.id is None or space.revision is not None:
        raise ConfigurationError(f"{text!r} cannot be written to: name the Space as owner/name.")
    return space.id


def _other_visibility(id: str, *, is_private: bool) -> str:
    page = f"{address_of(id).page_url}/settings"
    if is_private:
        return f"{id} is private. To show it to everybody, change that at {page}, and push without --public."
    return (
        f"{id} is public already, and what it has may have been copied. Make it private at {page} first, or push to "
        "another name."
    )
