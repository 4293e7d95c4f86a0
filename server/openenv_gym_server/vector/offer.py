"""What a server offers on the vector wire, worked out once, and what it refuses before anything is done."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from inspect import signature
from typing import Any

from openenv_gym_protocol.autoreset import AutoresetMode
from openenv_gym_protocol.errors import (
    ConfigurationError,
    InvalidMessage,
    OpenEnvGymError,
    UnknownOption,
    nearest,
)
from openenv_gym_protocol.json_schema import combined
from openenv_gym_protocol.release import product
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS
from openenv_gym_protocol.vector.array_data import DTYPES
from openenv_gym_protocol.vector.codec import MAX_DEPTH
from openenv_gym_protocol.vector.columns import Layout
from openenv_gym_protocol.vector.frames import Open, Opened, Welcome
from openenv_gym_protocol.vector.lane_rules import autoreset_mode
from openenv_gym_protocol.vector.payloads import PayloadColumns, payload_columns

from openenv_gym_server.config import ServerMode
from openenv_gym_server.schema import schemas_of
from openenv_gym_server.service import Service
from openenv_gym_server.vector.observations import ObservationPacker

logger = logging.getLogger(__name__)


class Offer:
    """What one app offers.

    Args:
        service: The server's parts.

    Raises:
        ConfigurationError: The environment steps many lanes at once, and declares no spaces of fixed shape that its
            models fit, or an autoreset mode that there is not.

    Attributes:
        actions: How its actions travel as columns; None: they travel as values.
        observations: How its observations do.
        packer: Packs observations that are models, where they travel as columns.
        autoreset_modes: The modes that its lanes can have.
        partial_steps: Some lanes of an ``open`` may be stepped without the others.
        partial_resets: They may be reset without the others.
        is_in_production: Nothing can be reset or stepped.
        takes_next_seeds: An environment of many lanes takes the seeds of the resets that it makes by itself.
        takes_values: Values of spaces can be had of what travels, and sent as they are, without the models.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.traits = service.definition.traits
        self.is_in_production = service.config.mode is ServerMode.PRODUCTION
        self.schemas = schemas_of(service.definition)
        self.actions = self._columns("action", ACTION_KEYS)
        self.observations = self._columns("observation", OBSERVATION_KEYS)
        self.packer = None if self.observations is None else ObservationPacker(self.observations)
        self.takes_values = self.actions is not None and self.observations is not None
        found = self.traits.environment_class if self.traits.has_arrays else None
        self.autoreset_modes = tuple(getattr(found, "autoreset_modes", tuple(AutoresetMode)))
        self.partial_steps = bool(getattr(found, "partial_steps", True))
        self.partial_resets = bool(getattr(found, "partial_resets", True))
        self.takes_next_seeds = "next_seeds" in _parameters(found, "step_arrays")
        self._time_limits = bool(getattr(found, "time_limits", True))
        if self.traits.has_arrays:
            self.require_layouts()
            self._require_modes()
            self._tell_of_seeds()

    def welcome(self, request_id: int, link: str = "") -> Welcome:
        """Answers hello.

        Args:
            request_id: The request.
            link: The secret by which the link can be resumed; empty where it cannot.
        """
        capabilities = ["render"] if self.traits.render_modes else []
        capabilities += ["call", "get", "set"] if self.traits.remote_names else []
        capabilities += ["step_arrays"] if self.traits.has_arrays else []
        config = self._service.config
        return Welcome(
            id=request_id,
            server=product(),
            max_frame_bytes=config.max_frame_bytes,
            max_lanes=config.max_lanes,
            max_depth=MAX_DEPTH,
            dtypes=list(DTYPES),
            capabilities=capabilities,
            schemas=self.schemas,
            link=link,
            linger=config.linger if link else 0.0,
        )

    def opened(self, request_id: int, lanes: list[int]) -> Opened:
        """Answers open."""
        spaces = self.traits.spaces or {}
        return Opened(
            id=request_id,
            lanes=lanes,
            action_space=spaces.get("action"),
            observation_space=spaces.get("observation"),
            action_columns=self.actions is not None,
            observation_columns=self.observations is not None,
            partial_steps=self.partial_steps,
            partial_resets=self.partial_resets,
            autoreset_modes=[str(mode) for mode in self.autoreset_modes],
            render_modes=list(self.traits.render_modes),
            callable_names=list(self.traits.remote_names),
            nonfinite_rewards=self.traits.allow_nonfinite_reward,
        )

    def require_layouts(self) -> tuple[Layout, Layout]:
        """The layouts of actions and observations, which environments of many lanes need.

        Raises:
            ConfigurationError: The environment's spaces are not of a fixed shape, or it declares none.
        """
        if self.actions is None or self.observations is None:
            raise ConfigurationError(
                f"{self._service.definition.class_name} has step_arrays, but declares no spaces of fixed shape."
            )
        return self.actions.layout, self.observations.layout

    def check_open(self, request: Open) -> AutoresetMode:
        """Refuses lanes that cannot be had.

        Returns:
            The autoreset mode asked for.

        Raises:
            InvalidMessage: Of an autoreset mode, render mode or time limit that there is not.
            UnknownOption: A reset option that the environment does not take.
        """
        mode = autoreset_mode(request.autoreset)
        if mode not in self.autoreset_modes:
            listed = ", ".join(self.autoreset_modes)
            raise InvalidMessage(f"This environment resets its lanes itself, and cannot do {mode}; it can: {listed}.")
        limit = request.max_episode_steps
        if limit is not None and limit < 1:
            raise InvalidMessage(f"max_episode_steps must be at least 1, not {limit}.")
        if limit is not None and not self._time_limits:
            raise InvalidMessage("This environment keeps no max_episode_steps; leave it out.")
        modes = self.traits.render_modes
        if request.render_mode is not None and request.render_mode not in modes:
            raise InvalidMessage(f"Unknown render mode {request.render_mode[:100]!r}. {nearest('', modes)}")
        self.check_options(request.options)
        return mode

    def check_options(self, options: Iterable[str]) -> None:
        """Refuses reset options that the environment does not take.

        Raises:
            UnknownOption: There is one; the message names the nearest that it takes.
        """
        parameters = self.traits.reset_parameters
        if parameters is None:
            return
        known = {"episode_id", *(parameter.name for parameter in parameters)}
        for name in options:
            if name not in known:
                raise UnknownOption(f"Unknown reset option {name[:100]!r}. {nearest(name, known)}")

    def check_name(self, name: str) -> None:
        """Refuses a name that clients may not call, read or set.

        Raises:
            UnknownOption: The environment does not allow it; the message names the nearest that it does.
        """
        if name not in self.traits.remote_names:
            raise UnknownOption(f"The name {name[:100]!r} is not allowed. {nearest(name, self.traits.remote_names)}")

    def check_settable(self, name: str) -> None:
        """Refuses a name that clients may not set.

        Raises:
            UnknownOption: The environment does not allow it.
        """
        self.check_name(name)
        settable = self.traits.settable_names
        if name not in settable:
            raise UnknownOption(f"The name {name!r} can be read, and not set. {nearest(name, settable)}")

    def _require_modes(self) -> None:
        unknown = [mode for mode in self.autoreset_modes if mode not in list(AutoresetMode)]
        if unknown or not self.autoreset_modes:
            raise ConfigurationError(
                f"{self._service.definition.class_name}.autoreset_modes are {list(self.autoreset_modes)!r:.200}; they "
                f"have to be some of {', '.join(AutoresetMode)}."
            )

    def _tell_of_seeds(self) -> None:
        if not (self.takes_next_seeds or self.traits.seeded_stream or self.traits.seed_supported is False):
            logger.warning(
                "%s neither declares seeded_stream nor takes next_seeds in step_arrays: the episodes that its lanes "
                "begin by themselves depend on no seed, and are not those of the standard wire.",
                self._service.definition.class_name,
            )

    def _columns(self, side: str, reserved: frozenset[str]) -> PayloadColumns | None:
        spaces = self.traits.spaces or {}
        if side not in spaces:
            return None
        schema = self.schemas[side]
        if side == "observation":
            schema = combined(schema, self.schemas.get("reset_observation"))
        try:
            return payload_columns(spaces[side], schema, reserved, of_action=side == "action")
        except OpenEnvGymError as error:
            if self.traits.has_arrays:
                raise ConfigurationError(
                    f"The {side} space that {self._service.definition.class_name} declares cannot be used: {error}"
                ) from error
            logger.error("The declared %s space cannot be used, and values are sent instead: %s", side, error)
            return None


def _parameters(found: type | None, method: str) -> Iterable[str]:
    return () if found is None else signature(getattr(found, method)).parameters


def options_of(opened: dict[str, Any], once: dict[str, Any] | None) -> dict[str, Any]:
    """The reset options of one reset: those of this once go before those of ``open``."""
    return {**opened, **once} if once else opened
