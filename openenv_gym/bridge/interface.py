"""An environment as its server describes it: codecs, options, seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import Space
from openenv_gym_protocol.bodies import Schemas, Seeding, Spaces
from openenv_gym_protocol.errors import (
    InvalidAction,
    InvalidObservation,
    OpenEnvGymError,
    ProtocolFailure,
    SchemaMismatch,
)
from openenv_gym_protocol.gymnasium_spaces import data_to_space
from openenv_gym_protocol.json_schema import Definitions, combined
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS

from openenv_gym.bridge.codecs.base import NULL, Codec, Refusal
from openenv_gym.bridge.declared import Declared
from openenv_gym.bridge.observations import Leaves, array_form
from openenv_gym.bridge.schema.derived import View, action_codec, observation_codec
from openenv_gym.bridge.schema.exact import exact_codec, exact_root


class Interface:
    """How actions are written and observations read.

    Args:
        schemas: The server's ``/schema``.
        view: ``"flat"``, ``"faithful"`` or None; see ``spaces``.
        declared: What the catalogue says; compared with what the server says.

    Attributes:
        schemas: The server's ``/schema``.
        seeding: What is known of seeds.
        info_keys: Keys that every info has.
        reset_options: The names of the reset options with their schemas; None where the server does not say.
        render_modes: What it can be pictured as, where the server speaks the vector wire.
        render_fps: Pictures a second; None where nobody says.

    Raises:
        SchemaMismatch: The server's spaces are not the declared ones.
        UnsupportedSchema: No space can be derived; the message names the field.
        ProtocolFailure: What the server states cannot be read.
    """

    def __init__(self, schemas: Schemas, view: View | None = None, declared: Declared | None = None) -> None:
        self.schemas = schemas
        said = schemas.spaces
        if declared is not None:
            said = _agreed(declared, said)
        try:
            self._action, self._observation = _derived(schemas, view) if said is None else _exact(schemas, said, view)
        except OpenEnvGymError:
            raise
        except Exception as error:
            # Whatever it is, it is what the server states that cannot be read.
            raise ProtocolFailure(f"The server's /schema cannot be read: {type(error).__name__}: {error}") from error
        form = array_form(self._observation.space)
        self._paths = None if form is None else {leaf.path for leaf in form.layout.leaves}
        self.seeding = schemas.seeding or Seeding()
        self.info_keys = tuple(schemas.info_keys or ())
        self.reset_options = schemas.reset_options
        self.render_modes = tuple(schemas.render_modes or ())
        self.render_fps = schemas.render_fps
        if declared is not None:
            self._complete(declared)

    @property
    def action_space(self) -> Space[Any]:
        """The space of one action."""
        return self._action.space

    @property
    def observation_space(self) -> Space[Any]:
        """The space of one observation."""
        return self._observation.space

    def encode_action(self, action: Any) -> dict[str, Any]:
        """Writes an action as the fields of the server's model.

        Raises:
            InvalidAction: It is outside the space; the message names the field and its bounds.
        """
        try:
            payload: dict[str, Any] = self._action.encode(action)
        except Refusal as refusal:
            if action is None:
                raise InvalidAction(f"The action is None: pass one of {self.action_space}.") from None
            raise InvalidAction(refusal.text("The action")) from None
        return payload

    def decode_observation(self, payload: dict[str, Any]) -> Any:
        """Reads an observation.

        Raises:
            InvalidObservation: It is outside the space; the message names the field and its bounds.
        """
        try:
            return self._observation.decode(payload)
        except Refusal as refusal:
            hint = " A server writes null for NaN and the infinities too." if refusal.reason.startswith(NULL) else ""
            raise InvalidObservation(refusal.text("The observation") + hint) from None

    def observation_leaves(self, payloads: Sequence[dict[str, Any]]) -> Leaves | None:
        """Reads many observations at once.

        Returns:
            New arrays; None where each has to be read by ``decode_observation``, which also says what is wrong.
        """
        if self._paths is None:
            return None
        leaves = self._observation.columns(payloads)
        return leaves if leaves is not None and leaves.keys() == self._paths else None

    def _complete(self, declared: Declared) -> None:
        if self.seeding.seeded_stream is None and self.seeding.seed_supported is None:
            self.seeding = Seeding(seeded_stream=declared.seeded_stream, seed_supported=declared.seed_supported)
        self.info_keys = self.info_keys or declared.info_keys
        if self.reset_options is None and declared.reset_options is not None:
            self.reset_options = dict(declared.reset_options)
        if not self.render_modes:
            self.render_modes, self.render_fps = declared.render_modes or (), declared.render_fps


def declared_spaces(declared: Declared, view: View | None = None) -> tuple[Space[Any], Space[Any]]:
    """The spaces of an action and of an observation, before anybody has connected.

    Raises:
        UnsupportedSchema: The flat view would leave nothing.
    """
    assert declared.action_space is not None  # or there is nothing to ask for
    assert declared.observation_space is not None
    return _view_of(declared.action_space, view, sends=True), _view_of(declared.observation_space, view)


def _view_of(data: dict[str, Any], view: View | None, *, sends: bool = False) -> Space[Any]:
    space = data_to_space(data)
    if view != "flat":
        return space
    codec = exact_codec(space, flat=True, sends=sends)
    if codec is None:
        raise Definitions({}).unsupported(f"nothing in {space} is numeric; use spaces='faithful'")
    return codec.space


def _exact(schemas: Schemas, said: Spaces, view: View | None) -> tuple[Codec, Codec]:
    action, observation = data_to_space(said.action), data_to_space(said.observation)
    seen = combined(schemas.observation, schemas.reset_observation)
    return (
        exact_root(action, schemas.action, ACTION_KEYS, flat=view == "flat", sends=True),
        exact_root(observation, seen, OBSERVATION_KEYS, flat=view == "flat"),
    )


def _derived(schemas: Schemas, view: View | None) -> tuple[Codec, Codec]:
    return (
        action_codec(schemas.action, view),
        observation_codec(schemas.observation, schemas.reset_observation, view),
    )


def _agreed(declared: Declared, said: Spaces | None) -> Spaces | None:
    """The declared spaces where there are some, after a look at what the server says."""
    if declared.action_space is None or declared.observation_space is None:
        return said
    expected = Spaces(action=declared.action_space, observation=declared.observation_space)
    if said is not None:
        _compare(expected, said)
    return expected


def _compare(declared: Spaces, said: Spaces) -> None:
    pairs = (
        ("action", declared.action, said.action),
        ("observation", declared.observation, said.observation),
    )
    for name, ours, theirs in pairs:
        expected, found = data_to_space(ours), data_to_space(theirs)
        if expected != found:
            raise SchemaMismatch(
                f"The server's {name} space is {found}, but {expected} was declared. The server is another version "
                "of the environment than the catalogue's."
            )
