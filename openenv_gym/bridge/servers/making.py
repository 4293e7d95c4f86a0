"""From the keywords of an environment to its servers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

from openenv_gym.bridge.servers.servers import Servers, refuse_several
from openenv_gym.providers.pool import LINGER_SECONDS, provider_named
from openenv_gym.providers.requests import server_request
from openenv_gym.transports.address import websocket_url
from openenv_gym.transports.timeouts import Timeouts


def make_servers(
    *,
    base_url: str | Sequence[str] | None,
    path: str | os.PathLike[str] | None,
    image: str | None,
    provider: str | Mapping[str, Any] | None,
    token: str | None,
    settings: Mapping[str, str] | None,
    timeouts: Timeouts,
    sessions_per_server: int | None = None,
) -> Servers:
    """Reads the keywords that say where an environment runs.

    Args:
        base_url: One or several servers that run already.
        path: The folder of an environment project.
        image: The name of an image; with ``path`` too, the image is of that project.
        provider: A provider's name, or its options, with its name under ``name`` where it does not follow from
            ``path`` or ``image``. Two options are any provider's: ``linger`` and ``spares``, see ``Servers``.
        token: For servers that run already.
        settings: Environment variables of the server to start.
        timeouts: For starting and connecting.
        sessions_per_server: See ``Servers``.

    Raises:
        ConfigurationError: Keywords that contradict each other, or none that says where.
        UnknownOption: An option that the provider does not have; the nearest is named.
    """
    if sessions_per_server is not None and sessions_per_server < 1:
        raise ConfigurationError(f"sessions_per_server must be at least 1, not {sessions_per_server}.")
    is_space = (provider.get("name") if isinstance(provider, Mapping) else provider) == "space"
    _check_place({"base_url": base_url, "path": path, "image": image}, is_space=is_space)
    if base_url is not None:
        if provider is not None or settings is not None:
            raise ConfigurationError("provider= and settings= are for servers to start; base_url names one that runs.")
        return Servers(
            _addresses(base_url), None, token=token, timeouts=timeouts, sessions_per_server=sessions_per_server
        )
    if token is not None:
        raise ConfigurationError(
            "token= is for servers given by base_url; a started server gets one of its own, and the environment of a "
            "Space has it by provider={'token': 'env:NAME'}."
        )
    options = dict(provider) if isinstance(provider, Mapping) else provider
    linger, spares = _shared_options(options) if isinstance(options, dict) else (LINGER_SECONDS, 0)
    request = server_request(path=path, image=image, provider=options, settings=settings)
    provider_named(request.provider).check(request)
    if spares:
        refuse_several(request, "A spare is a second server", "Leave spares= out")
    return Servers(
        (),
        request,
        token=None,
        timeouts=timeouts,
        linger=linger,
        sessions_per_server=sessions_per_server,
        spares=spares,
    )


def _check_place(given: Mapping[str, Any], *, is_space: bool) -> None:
    places = [name for name, value in given.items() if value is not None]
    if is_space:
        if places:
            raise ConfigurationError(f"provider='space' runs a Space, so {' and '.join(places)}= cannot be given too.")
        return
    if not places or (len(places) > 1 and "base_url" in places):
        said = " and ".join(places) or "nothing"
        raise ConfigurationError(f"Give one of base_url=, path= or image= to say where the environment is; got {said}.")


def _addresses(base_url: str | Sequence[str]) -> tuple[str, ...]:
    urls = (base_url,) if isinstance(base_url, str) else tuple(base_url)
    if not urls:
        raise ConfigurationError("base_url is an empty list.")
    for url in urls:
        websocket_url(url)
    return urls


def _shared_options(options: dict[str, Any]) -> tuple[float, int]:
    """Takes out the options that are no provider's own."""
    linger, spares = options.pop("linger", LINGER_SECONDS), options.pop("spares", 0)
    if isinstance(linger, bool) or not isinstance(linger, int | float) or not linger >= 0:
        raise ConfigurationError(f"provider={{'linger': ...}} must be 0 or more seconds, not {linger!r:.80}.")
    if isinstance(spares, bool) or not isinstance(spares, int) or spares < 0:
        raise ConfigurationError(f"provider={{'spares': ...}} must be a number of servers, not {spares!r:.80}.")
    return float(linger), spares
