"""What ``RemoteEnv`` and ``RemoteVectorEnv`` are made from: their keywords, read and checked before anything starts."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from gymnasium import Space
from openenv_gym_protocol.errors import ConfigurationError, UnknownOption, nearest

from openenv_gym.bridge.checks import check_reset_options, check_types
from openenv_gym.bridge.declared import Declared, declared_by_project
from openenv_gym.bridge.interface import Interface, declared_spaces
from openenv_gym.bridge.option_values import check_values
from openenv_gym.bridge.schema.derived import View
from openenv_gym.bridge.servers.making import make_servers
from openenv_gym.bridge.wires import Wire
from openenv_gym.transports.http import fetch_schema
from openenv_gym.transports.io_thread import io_thread
from openenv_gym.transports.timeouts import Timeouts
from openenv_gym.transports.token import is_reference

logger = logging.getLogger(__name__)

VECTOR_KEYWORDS = ("num_envs", "autoreset_mode", "max_episode_steps", "sessions_per_server", "on_failure")
"""The keywords that ``RemoteVectorEnv`` has besides ``RemoteEnv``'s."""

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
    wire: Wire | None = None


class Setup:
    """An environment before it connects.

    Args:
        owner: What errors call the environment: its id, or the name of the class.
        keywords: Its keywords.
        options: The keywords that are none of its own: reset options, if the environment has them.
        more_names: The names of the class's further keywords, for suggestions.
        sessions_per_server: How many lanes a server gets; see ``Servers``.

    Attributes:
        wire: The wire to speak; None to take the vector wire where it is offered.
        render_mode: What ``render`` gives, or None.
        timeouts: For each phase.
        servers: Where the servers come from.
        reset_options: What every reset sends.
        action_space: The space of one action.
        observation_space: The space of one observation.

    Raises:
        UnknownOption: A keyword that nobody knows, or a render mode that there is not.
        ConfigurationError: Keywords that contradict each other, or a reset option with a value that it cannot have.
        OpenEnvGymError: The server had to be asked for its spaces, and could not be.
    """

    def __init__(
        self,
        owner: str,
        keywords: Keywords,
        options: Mapping[str, Any],
        *,
        more_names: Iterable[str] = (),
        sessions_per_server: int | None = None,
    ) -> None:
        self._owner = owner
        check_types({each.name: getattr(keywords, each.name) for each in fields(keywords)})
        self._declared = _declared(keywords)
        self._own_names = (*(each.name for each in fields(Keywords)), *more_names)
        self._interface: Interface | None = None
        if keywords.wire is not None and keywords.wire not in get_args(Wire):
            raise ConfigurationError(f"wire must be 'vector' or 'standard', not {keywords.wire!r}.")
        self.wire = keywords.wire
        modes = None if self._declared is None else self._declared.render_modes
        if modes is not None:
            self._check_render_mode(keywords.render_mode, modes)
        self.render_mode = keywords.render_mode
        if keywords.spaces is not None and keywords.spaces not in get_args(View):
            raise ConfigurationError(f"spaces must be 'flat' or 'faithful', not {keywords.spaces!r}.")
        self._view = keywords.spaces
        self.timeouts = Timeouts.of(keywords.timeouts)
        self._named_options = dict(keywords.reset_options or {})
        self._options = dict(options)
        self.reset_options = {**self._named_options, **options}
        known = None if self._declared is None else self._declared.reset_options
        # A server that has to be started first cannot be asked which keywords it knows.
        ask_for_options = known is None and keywords.base_url is not None
        if not ask_for_options:
            self._check_options(options, known)
        if keywords.token is not None and not is_reference(keywords.token):
            _warn_of_literal_token()
        self.servers = make_servers(
            base_url=keywords.base_url,
            path=keywords.path,
            image=keywords.image,
            provider=keywords.provider,
            token=keywords.token,
            settings=keywords.settings,
            timeouts=self.timeouts,
            sessions_per_server=sessions_per_server,
        )
        self._declared_options: Mapping[str, Any] = {}
        if known is not None and (keywords.declared is not None or not keywords.settings):
            self._declared_options = known
            self._check_reset_options(self._named_options, known)
            check_values(self._owner, self.reset_options, known)
        if options and ask_for_options:
            self._check_options(options, self.interface().reset_options)
        self.action_space, self.observation_space = self._spaces()
        if modes is None and keywords.render_mode is not None:
            self._check_render_mode(keywords.render_mode, self.interface().render_modes)

    def _spaces(self) -> tuple[Space[Any], Space[Any]]:
        if self._declared is not None and self._declared.action_space is not None:
            return declared_spaces(self._declared, self._view)
        interface = self.interface()
        return interface.action_space, interface.observation_space

    def interface(self, lanes: Sequence[int] = (0,)) -> Interface:
        """What the server says of itself; it is started and asked when that was not done before.

        Args:
            lanes: Those that are about to connect: their servers are started together.

        Raises:
            SchemaMismatch: Its spaces are not the declared ones.
            OpenEnvGymError: It cannot be started or asked.
        """
        if self._interface is None:
            server = self.servers.of(lanes)[0]
            schemas = io_thread().run(fetch_schema(server.base_url, server.options))
            interface = Interface(schemas, self._view, self._declared)
            if interface.reset_options is not None:
                # The catalogue may know keywords that a server of another version does not.
                self._check_options(self._options, interface.reset_options)
                self._check_reset_options(self._named_options, interface.reset_options)
                check_values(self._owner, self.reset_options, interface.reset_options)
            self._interface = interface
        return self._interface

    def reset_data(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What a reset sends besides its seed.

        Args:
            options: The call's own options, which go before the constructor's this once.

        Raises:
            UnknownOption: An option that the environment does not have; the nearest is named.
            ConfigurationError: A seed among the options, or a value that the option cannot have.
        """
        check_reset_options(options)
        if not options:
            return dict(self.reset_options)
        given = dict(options)
        if "seed" in given:
            raise ConfigurationError("Pass the seed as reset(seed=...), not among the options.")
        known = self.interface().reset_options
        if known is not None:
            self._check_reset_options(given, known)
            check_values(self._owner, given, known)
        check_values(self._owner, given, self._declared_options)
        return {**self.reset_options, **given}

    def metadata(self) -> dict[str, Any]:
        """What Gymnasium's ``metadata`` says of rendering, of this environment alone, as far as it is known."""
        told: Declared | Interface = self._declared or Declared()
        if self._interface is not None and (self._declared is None or told.render_modes is None):
            told = self._interface
        fps = {} if told.render_fps is None else {"render_fps": told.render_fps}
        return {"render_modes": list(told.render_modes or ()), **fps}

    def _check_render_mode(self, render_mode: str | None, known: Sequence[str]) -> None:
        if render_mode is None or (render_mode in known and self.wire != "standard"):
            return
        if render_mode in known:
            raise UnknownOption(
                f"render_mode={render_mode!r} needs the vector wire: the standard wire carries no pictures."
            )
        what = nearest(render_mode, known) if known else "this environment renders nothing."
        # gymnasium.make asks for pictures, to show them in a window, where the caller wrote "human".
        meant = " (which Gymnasium asks for in place of 'human')" if render_mode == "rgb_array" else ""
        raise UnknownOption(f"{self._owner} does not support render_mode={render_mode!r}{meant}: {what}")

    def _check_options(self, options: Mapping[str, Any], known: Mapping[str, Any] | None) -> None:
        for name, value in options.items():
            if known is None or name not in known:
                advice = self._advice(name, value, known)
                raise UnknownOption(f"{self._owner} got an unexpected keyword argument {name!r}. {advice}")

    def _advice(self, name: str, value: Any, known: Mapping[str, Any] | None) -> str:
        if name in VECTOR_KEYWORDS and name not in self._own_names:
            return (
                f"{name}= is a keyword of the vector environment that gymnasium.make_vec makes by default. With "
                f"vectorization_mode='sync' or 'async', Gymnasium's own is told by vector_kwargs={{{name!r}: ...}}, as "
                "far as it has that keyword."
            )
        suggestion = nearest(name, [*self._own_names, *(known or ())])
        if known is not None:
            return suggestion
        return (
            f"The environment does not list its reset options. If it is one, write reset_options={{{name!r}: "
            f"{value!r:.80}}}; its author can list it in openenv.yaml under x-openenv-gym: reset_options. {suggestion}"
        )

    def _check_reset_options(self, options: Iterable[str], known: Iterable[str]) -> None:
        for name in options:
            if name not in known and name not in OWN_RESET_KEYS:
                raise UnknownOption(f"reset() got an unknown option {name!r}. {nearest(name, known)}")


def _declared(keywords: Keywords) -> Declared | None:
    """What is known beforehand: from the catalogue, or from the manifest of a project's folder."""
    if keywords.declared is not None or keywords.path is None:
        return keywords.declared
    said = declared_by_project(str(keywords.path))
    if said is None or not keywords.settings:
        return said
    # Settings may change the spaces and what is rendered, which the manifest cannot know.
    return replace(said, action_space=None, observation_space=None, render_modes=None, render_fps=None)


@functools.cache
def _warn_of_literal_token() -> None:
    logger.warning(
        "token= was given as it is: gymnasium.make keeps it in env.spec, so that spec.to_json() and error texts show "
        "it. Write token='env:NAME' to have it read from an environment variable."
    )
