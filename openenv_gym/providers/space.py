"""The space provider: an environment in a Hugging Face Space, which is woken and never ended."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from openenv_gym_protocol.errors import ConfigurationError, ProviderError

from openenv_gym.providers.base import Owner, ServerRequest, SpaceAddress, space_address
from openenv_gym.providers.deadline import Deadline
from openenv_gym.providers.options import read_options
from openenv_gym.providers.space_status import SpaceStatus
from openenv_gym.providers.space_waking import wait_for_space
from openenv_gym.transports.token import is_reference, resolve_token

_logger = logging.getLogger("openenv_gym")

_OWN_SETTINGS = frozenset({"OPENENV_GYM_SERVER_INDEX"})
"""Settings that only tell servers of a vector environment apart; a Space is one server."""


@dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """What a request to the space provider may say.

    Attributes:
        space: The Space, in any way that people write one.
        revision: The branch, tag or commit that must be what runs; a Space serves its newest alone.
        token: ``env:NAME`` of the environment's own token; None where it asks for none.
        hub_token: ``env:NAME`` of the Hub's token for a private Space; None: as huggingface_hub finds it.
        start_timeout: Seconds until it must answer. None: as the caller of the pool says.
    """

    space: str | None = None
    revision: str | None = None
    token: str | None = None
    hub_token: str | None = None
    start_timeout: float | None = None

    def __post_init__(self) -> None:
        if self.start_timeout is not None and self.start_timeout <= 0:
            raise ConfigurationError(f"start_timeout must be more than 0 seconds, not {self.start_timeout}.")
        for name in ("token", "hub_token"):
            value = getattr(self, name)
            if value is not None and not is_reference(value):
                raise ConfigurationError(
                    f"provider 'space': {name} is written 'env:NAME', the environment variable that holds it: options "
                    "stand in specs and messages."
                )


@dataclass(frozen=True)
class RunningSpace:
    """A Space that answers.

    Attributes:
        base_url: Its address.
        token: What its environment wants as token, if anything.
        headers: What a private Space wants with every request.
        events: What was seen while it woke, a line each.
    """

    base_url: str
    token: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    events: tuple[str, ...]

    def logs(self, lines: int = 100) -> str:
        """What was seen while it woke, and where its log is: that is its owner's to read."""
        return "\n".join(self.events[-lines:])

    def stop(self) -> None:
        """Ends nothing: the Space is its owner's, and others use it. It falls asleep by itself."""


class SpaceProvider:
    """Wakes a Space and waits until its environment answers.

    The Hub's token of this machine's user goes to the Hub where a Space cannot be seen without, and to the Space itself
    only if that is private; never to any other host. Redirects are not followed.
    """

    owns_servers = False

    def check(self, request: ServerRequest) -> None:
        """See ``Provider.check``."""
        options = read_options(request, SpaceOptions)
        if request.path is not None or request.image is not None:
            raise ConfigurationError("provider='space' runs a Space: leave path= and image= out.")
        if names := [name for name, _ in request.settings if name not in _OWN_SETTINGS]:
            raise ConfigurationError(
                f"settings ({', '.join(names)}) cannot be given to a Space: its owner sets its variables on its page."
            )
        _address(options)
        resolve_token(options.token)
        resolve_token(options.hub_token)

    def sharing_key(self, request: ServerRequest) -> str:
        """See ``Provider.sharing_key``."""
        options = asdict(read_options(request, SpaceOptions))
        del options["start_timeout"]
        return json.dumps([request.provider, options], sort_keys=True)

    def start_seconds(self, request: ServerRequest) -> float | None:
        """See ``Provider.start_seconds``."""
        return read_options(request, SpaceOptions).start_timeout

    def only_one(self, request: ServerRequest) -> str | None:  # noqa: ARG002
        """See ``Provider.only_one``."""
        return "space"

    def start(self, request: ServerRequest, deadline: Deadline, owner: Owner | None = None) -> RunningSpace:  # noqa: ARG002
        """See ``Provider.start``; nobody owns a Space."""
        self.check(request)
        options = read_options(request, SpaceOptions)
        address = _address(options)
        events: list[str] = []

        def tell(stage: str) -> None:
            events.append(f"{address.name}: {stage}")
            _logger.info("the Space %s: %s", address.name, _EXPLAINED.get(stage, stage))

        status = SpaceStatus(address, resolve_token(options.hub_token), deadline)
        status.begin()
        wanted = status.commit_of(address.revision) if address.revision is not None else None
        wait_for_space(address, status, deadline, tell)
        if wanted is not None:
            _check_revision(address, status, wanted)
        events.append(f"{address.name} answers at {status.base_url}; its log is at {address.page_url}?logs=container")
        return RunningSpace(status.base_url, resolve_token(options.token), status.headers, tuple(events))


_EXPLAINED = {
    "SLEEPING": "it sleeps and is being woken (SLEEPING)",
    "BUILDING": "it is being built (BUILDING)",
    "APP_STARTING": "its application starts (APP_STARTING)",
}


def _address(options: SpaceOptions) -> SpaceAddress:
    if options.space is None:
        raise ConfigurationError("provider='space' needs the option 'space', such as 'owner/name'.")
    address = space_address(options.space)
    if options.revision is None:
        return address
    named = space_address(f"{address.id}@{options.revision}") if address.id is not None else None
    if named is None:
        raise ConfigurationError(f"revision= needs the Space's id, owner/name; {options.space!r} tells its host only.")
    if address.revision not in (None, named.revision):
        raise ConfigurationError(f"{options.space!r} and revision={options.revision!r} name two revisions.")
    return named


def _check_revision(address: SpaceAddress, status: SpaceStatus, wanted: str) -> None:
    running = status.look().sha
    if running != wanted:
        raise ProviderError(
            f"{address.name} runs {running or 'a commit that the Hub does not tell'}, not {address.revision} "
            f"({wanted}): a Space serves its newest revision alone. Leave revision= out; or take the project of that "
            f"revision with `openenv pull {address.name}@{address.revision}` and run it here, or duplicate the Space."
        )
