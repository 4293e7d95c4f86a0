"""The class that authors of environments derive from which step many lanes at once, in arrays.

One instance serves all lanes that a client opens together, on the vector wire. On the standard wire, and over HTTP,
an instance has one lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args

from openenv_gym_protocol.errors import ConfigurationError, ExecutionError
from openenv_gym_protocol.models import State
from openenv_gym_protocol.root_field import ACTION_KEYS, OBSERVATION_KEYS
from openenv_gym_protocol.vector.payloads import PayloadColumns, payload_columns
from pydantic import BaseModel

from openenv_gym_server.environment import Environment

ActT = TypeVar("ActT", bound=BaseModel)
ObsT = TypeVar("ObsT", bound=BaseModel)


@dataclass(slots=True, kw_only=True)
class ResetArrays:
    """What ``reset_arrays`` returns.

    Attributes:
        observations: The observation space's Dicts and Tuples around arrays of shape ``(lanes, *leaf shape)``.
        infos: One mapping for each lane, or None.
    """

    observations: Any
    infos: Sequence[Mapping[str, Any]] | None = None


@dataclass(slots=True, kw_only=True)
class StepArrays:
    """What ``step_arrays`` returns.

    Attributes:
        observations: The observation space's Dicts and Tuples around arrays of shape ``(lanes, *leaf shape)``.
        rewards: Of shape ``(lanes,)``; 0.0 for lanes that were reset instead of stepped.
        terminated: Booleans of shape ``(lanes,)``.
        truncated: Booleans of shape ``(lanes,)``.
        infos: One mapping for each lane, or None.
        reset_rows: In NEXT_STEP, booleans of shape ``(lanes,)``: the lanes that were reset instead of stepped, which
            are those whose episode was over. None: no lane was.
        final_rows: In SAME_STEP, the rows whose episode ended and that were reset in this step.
        final_observations: The observations that those episodes ended with, as a batch of ``len(final_rows)``.
        final_infos: The infos that they ended with, or None.
    """

    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    infos: Sequence[Mapping[str, Any]] | None = None
    reset_rows: Any = None
    final_rows: Sequence[int] = ()
    final_observations: Any = None
    final_infos: Sequence[Mapping[str, Any]] | None = None


class VectorEnvironment(Environment[ActT, ObsT, State], Generic[ActT, ObsT]):
    """Many lanes in one object: a Gymnasium ``VectorEnv``, a simulator on an accelerator, or arrays of one's own.

    ``spaces`` has to be declared, of one lane and of a fixed shape: all leaves Box, Discrete, MultiDiscrete or
    MultiBinary. The constructor is called for each group of lanes that a client opens; called without arguments, it
    makes one lane.

    Args:
        num_envs: How many lanes.
        autoreset: What follows the end of an episode, one of ``autoreset_modes``.
        max_episode_steps: Steps after which an episode is truncated; only where ``time_limits`` is declared.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    autoreset_modes: ClassVar[Sequence[str]] = ("NextStep",)
    """What may follow the end of an episode: ``NextStep``, ``SameStep``, ``Disabled``."""

    partial_steps: ClassVar[bool] = False
    """Some lanes may be stepped without the others."""

    partial_resets: ClassVar[bool] = False
    """Some lanes may be reset without the others."""

    time_limits: ClassVar[bool] = False
    """``max_episode_steps`` is kept."""

    def __init__(self, num_envs: int = 1, *, autoreset: str = "NextStep", max_episode_steps: int | None = None) -> None:
        super().__init__()
        self.num_envs = num_envs
        self.autoreset = autoreset
        self.max_episode_steps = max_episode_steps
        self._columns: tuple[PayloadColumns, PayloadColumns, type[BaseModel]] | None = None
        self._is_over = False
        self._state = State()

    def reset_arrays(self, lanes: Any, seeds: list[int | None], options: dict[str, Any]) -> ResetArrays:
        """Starts an episode in lanes.

        Args:
            lanes: Their positions among this object's lanes, int64; all of them, in order, unless
                ``partial_resets`` is declared.
            seeds: One for each of them, or None to go on in the stream of random numbers.
            options: The reset options.
        """
        raise NotImplementedError(f"{type(self).__name__} has no reset_arrays.")

    def step_arrays(self, actions: Any, lanes: Any) -> StepArrays:
        """Takes a step in lanes; those whose episode is over do what ``autoreset`` says.

        A class without ``seeded_stream`` that resets lanes by itself should take ``next_seeds`` too, a list like that
        of ``reset_arrays``: the seed of each lane, should it reset in this step. Without it those episodes depend on
        no seed, and clients are told so.

        Args:
            actions: The action space's Dicts and Tuples around arrays of shape ``(len(lanes), *leaf shape)``, which
                are read-only.
            lanes: Their positions among this object's lanes, int64; all of them, in order, unless ``partial_steps``
                is declared.
        """
        raise NotImplementedError(f"{type(self).__name__} has no step_arrays.")

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> ObsT:
        """Starts an episode of the only lane, for the standard wire."""
        self._state = State(episode_id=episode_id)
        self._is_over = False
        return self._begun(seed, options)

    def step(self, action: ActT, **options: Any) -> ObsT:
        """Takes a step of the only lane, for the standard wire.

        Raises:
            RuntimeError: The episode is over.
        """
        del options
        if self._is_over:
            raise RuntimeError("The episode is over: reset first.")
        actions, _, _ = self._wired()
        columns = actions.layout.stack([actions.pack(action.model_dump())])
        arrays = actions.layout.arrays(columns, 1, _numpy())
        told = self.step_arrays(actions.layout.assemble(arrays), _numpy().zeros(1, "int64"))
        self._state.step_count += 1
        reward = float(one_each("rewards", told.rewards, "float64", 1)[0])
        ended = (
            bool(one_each("terminated", told.terminated, "bool", 1)[0]),
            bool(one_each("truncated", told.truncated, "bool", 1)[0]),
        )
        self._is_over = any(ended)
        final = bool(len(told.final_rows))
        observations = told.final_observations if final else told.observations
        infos = told.final_infos if final else told.infos
        metadata = dict(infos[0]) if infos else {}
        if ended == (False, True):
            metadata["truncated"] = True
        return self._observation(observations, metadata, reward=reward, done=self._is_over)

    @property
    def state(self) -> State:
        """Where the episode of the only lane stands. On the vector wire the server counts the steps of each lane."""
        return self._state

    def _begun(self, seed: int | None, options: dict[str, Any]) -> ObsT:
        told = self.reset_arrays(_numpy().zeros(1, "int64"), [seed], options)
        return self._observation(told.observations, dict(told.infos[0]) if told.infos else {})

    def _observation(self, observations: Any, metadata: dict[str, Any], **outcome: Any) -> ObsT:
        _, columns, model = self._wired()
        layout = columns.layout
        value = layout.unpack(layout.pack_batch(observations, 1), 1)[0]
        fields = columns.payload(value)
        return cast(ObsT, model.model_validate({**fields, **outcome, "metadata": metadata}))

    def _wired(self) -> tuple[PayloadColumns, PayloadColumns, type[BaseModel]]:
        if self._columns is None:
            self._columns = _columns_of(type(self))
        return self._columns


def one_each(name: str, value: Any, dtype: str, lanes: int) -> Any:
    """What ``step_arrays`` returned of each lane, as an array of shape ``(lanes,)``.

    Args:
        name: The field of ``StepArrays``, for the message.
        value: The field's value.
        dtype: The dtype that it is cast to.
        lanes: How many lanes were stepped.

    Raises:
        ExecutionError: It is no such array.
    """
    try:
        array = _numpy().asarray(value, dtype)
    except (TypeError, ValueError) as error:
        raise ExecutionError(f"step_arrays returned {name} that are no array of {dtype}: {error}.") from error
    if array.shape != (lanes,):
        raise ExecutionError(f"step_arrays returned {name} of shape {array.shape} where ({lanes},) belongs.")
    return array


def _columns_of(found: type[VectorEnvironment[Any, Any]]) -> tuple[PayloadColumns, PayloadColumns, type[BaseModel]]:
    action_class, observation_class = _models_of(found)
    spaces = found.spaces or {}
    if not {"action", "observation"} <= spaces.keys():
        raise ConfigurationError(f"{found.__name__} has to declare spaces: of one action and of one observation.")
    actions = payload_columns(spaces["action"], action_class.model_json_schema(), ACTION_KEYS, of_action=True)
    schema = observation_class.model_json_schema()
    observations = payload_columns(spaces["observation"], schema, OBSERVATION_KEYS)
    if actions is None or observations is None:
        raise ConfigurationError(f"The spaces of {found.__name__} are not of a fixed shape.")
    return actions, observations, observation_class


def _models_of(found: type) -> tuple[type[BaseModel], type[BaseModel]]:
    for base in found.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            arguments = get_args(generic)
            if len(arguments) == 2 and all(isinstance(a, type) and issubclass(a, BaseModel) for a in arguments):
                return arguments[0], arguments[1]
    raise ConfigurationError(f"Derive {found.__name__} from VectorEnvironment[Action, Observation], with its models.")


def _numpy() -> Any:
    # Arrays need it, and a server of other environments does without.
    import numpy

    return numpy
