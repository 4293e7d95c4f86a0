"""What ``RemoteEnv`` and ``RemoteVectorEnv`` are made from: their keywords, read and checked before anything starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from openenv_gym_protocol.errors import ConfigurationError, UnknownOption, nearest

from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.interface import Interface, declared_spaces
from openenv_gym.bridge.source import make_source
from openenv_gym.bridge.spaces import View
from openenv_gym.transports.http import fetch_schema
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts

OWN_RESET_KEYS = frozenset({"seed", "episode_id"})
"""Keys of a reset that every environment understands."""


@dataclass(frozen=True, kw_only=True)
class Keywords:
    """The keywords that both environments have; ``RemoteEnv`` describes them."""

    base_url: str | Sequence[str] | None = None
    path: str | os.PathLike[str] | None = None
    image: str | None = None
    provider: str | Mapping[str, Any] | None = None
    token: str | None = field(default=None, repr=False)
    timeouts: Timeouts | Mapping[str, float | None] | None = None
    spaces: View | None = None
    settings: Mapping[str, str] | None = None
    reset_options: Mapping[str, Any] | None = None
    render_mode: str | None = None
    declared: Declared | None = None
    sessions_per_server: int | None = None


class Setup:
    """An environment before it connects.

    Args:
        owner: The name of the class, for errors.
        keywords: Its keywords.
        options: The keywords that are none of its own: reset options, if the environment has them.
        own_names: The names of its own keywords, for suggestions.

    Attributes:
        timeouts: For each phase.
        source: Where the servers come from.
        reset_options: What every reset sends.
        action_space: The space of one action.
        observation_space: The space of one observation.

    Raises:
        UnknownOption: A keyword that nobody knows, or a render mode that there is not.
        ConfigurationError: Keywords that contradict each other.
        OpenEnvGymError: The server had to be asked for its spaces, and could not be.
    """

    def __init__(self, owner: str, keywords: Keywords, options: Mapping[str, Any], own_names: Iterable[str]) -> None:
        self._owner = owner
        self._declared = keywords.declared
        self._own_names = tuple(own_names)
        self._interface: Interface | None = None
        self._check_render_mode(keywords.render_mode)
        if keywords.spaces is not None and keywords.spaces not in get_args(View):
            raise ConfigurationError(f"spaces must be 'flat' or 'faithful', not {keywords.spaces!r}.")
        self._view = keywords.spaces
        self.timeouts = Timeouts.of(keywords.timeouts)
        self._named_options = dict(keywords.reset_options or {})
        self.reset_options = {**self._named_options, **options}
        running = keywords.base_url is not None
        if self._declared is not None or not running:
            # A server that has to be started first cannot be asked which keywords it knows.
            self._check_options(options, self._declared.reset_options if self._declared is not None else {})
        self.source = make_source(
            base_url=keywords.base_url,
            path=keywords.path,
            image=keywords.image,
            provider=keywords.provider,
            token=keywords.token,
            settings=keywords.settings,
            timeouts=self.timeouts,
            sessions_per_server=keywords.sessions_per_server,
        )
        if self._declared is not None:
            self.action_space, self.observation_space = declared_spaces(self._declared, self._view)
            self._check_reset_options(self._named_options, self._declared.reset_options)
        else:
            interface = self.interface()
            if running:
                self._check_options(options, interface.reset_options or {})
            self.action_space, self.observation_space = interface.action_space, interface.observation_space

    @property
    def known_interface(self) -> Interface | None:
        """What the server says of itself, when it was asked already."""
        return self._interface

    def interface(self) -> Interface:
        """What the server says of itself; it is started and asked when that was not done before.

        Raises:
            SchemaMismatch: Its spaces are not the declared ones.
            OpenEnvGymError: It cannot be started or asked.
        """
        if self._interface is None:
            (server,) = self.source.servers([0])
            schemas = io_thread().run(fetch_schema(server.base_url, server.options))
            interface = Interface(schemas, self._view, self._declared)
            if interface.reset_options is not None:
                self._check_reset_options(self._named_options, interface.reset_options)
            self._interface = interface
        return self._interface

    def reset_data(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a reset sends besides its seed.

        Args:
            options: The call's own options, which go before the constructor's this once.

        Raises:
            UnknownOption: An option that the environment does not have; the nearest is named.
            ConfigurationError: A seed among the options.
        """
        if not options:
            return dict(self.reset_options)
        given = dict(options)
        if "seed" in given:
            raise ConfigurationError("Pass the seed as reset(seed=...), not among the options.")
        known = self.interface().reset_options
        if known is not None:
            self._check_reset_options(given, known)
        return {**self.reset_options, **given}

    def _check_render_mode(self, render_mode: str | None) -> None:
        if render_mode is not None:
            raise UnknownOption(
                f"{self._owner} does not support render_mode={render_mode!r}: this environment renders nothing."
            )

    def _check_options(self, options: Iterable[str], known: Iterable[str]) -> None:
        for name in options:
            if name not in known:
                suggestion = nearest(name, [*self._own_names, *known])
                raise UnknownOption(
                    f"{self._owner}.__init__() got an unexpected keyword argument {name!r}. {suggestion}"
                )

    def _check_reset_options(self, options: Iterable[str], known: Iterable[str]) -> None:
        for name in options:
            if name not in known and name not in OWN_RESET_KEYS:
                raise UnknownOption(f"reset() got an unknown option {name!r}. {nearest(name, known)}")
