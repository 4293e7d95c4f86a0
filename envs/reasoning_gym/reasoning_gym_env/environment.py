"""A question, and what an answer to it is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
from openenv_gym_protocol.errors import ConfigurationError, EnvironmentFailure, InvalidAction
from openenv_gym_server.environment import Environment
from pydantic import Field
from pydantic_core import to_jsonable_python

from reasoning_gym_env.models import ReasoningGymAction, ReasoningGymObservation, ReasoningGymState
from reasoning_gym_env.recipes import COMPOSITE, LARGEST, SPLITS, Recipe, recipe_of
from reasoning_gym_env.scoring import MOST_CHARACTERS, Score, score
from reasoning_gym_env.settings import DEFAULT_DATASET
from reasoning_gym_env.steadying import steady_entry

LONGEST_QUESTION = 65_536
"""Characters of a question; the library's own are below 10,000 unless a configuration makes them longer."""

_SEEDS = 2**31


@dataclass(frozen=True)
class _Dataset:
    """A dataset as it was made."""

    recipe: Recipe
    seed: int
    made: Any

    def entry(self, index: int) -> dict[str, Any]:
        """A question, always the same at the same place.

        Raises:
            EnvironmentFailure: The dataset cannot make it.
        """
        where = f"question {index} of {self.recipe.name} with the seed {self.seed}"
        try:
            with self.recipe.chance(self.seed + index):
                entry = steady_entry(self.made[index])
        except Exception as error:  # whatever a dataset's code raises
            config = f" and {self.recipe.config}" if self.recipe.config else ""
            raise EnvironmentFailure(f"{where}{config} cannot be made: {type(error).__name__}: {error}") from error
        if len(entry["question"]) > LONGEST_QUESTION:
            raise EnvironmentFailure(
                f"{where} has {len(entry['question'])} characters; at most {LONGEST_QUESTION} can be asked. "
                "Choose a smaller dataset_config."
            )
        return entry


@dataclass(slots=True)
class _Episode:
    dataset: _Dataset
    index: int
    entry: dict[str, Any]
    episode_id: str
    score: Score | None = None


class ReasoningGymEnvironment(Environment[ReasoningGymAction, ReasoningGymObservation, ReasoningGymState]):
    """One question an episode: the first step answers it, and ends the episode with the dataset's score as reward.

    A seeded reset draws a dataset and a place in it; unseeded ones go on from there in order, and around. Where the
    dataset changes without a seed, the next numbers of the same stream draw it.

    Attributes:
        default_dataset: The dataset of resets that name none, and of the tasks.
        default_config: Its configuration.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    execution = "thread"  # some questions take seconds to make
    seeded_stream = True
    seed_supported = True
    spaces: ClassVar[dict[str, Any] | None] = {
        "action": {"type": "UnicodeText", "max_length": MOST_CHARACTERS},
        "observation": {"type": "UnicodeText", "max_length": LONGEST_QUESTION},
    }
    info_keys: ClassVar[list[str] | None] = [
        "correct_answer",
        "dataset_metadata",
        "dataset_name",
        "dataset_seed",
        "index",
        "score",
        "score_fault",
        "split",
    ]

    default_dataset: ClassVar[str] = DEFAULT_DATASET
    default_config: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        super().__init__()
        self._random: np.random.Generator | None = None
        self._episode: _Episode | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        dataset_name: str | None = None,
        dataset_config: dict[str, Any] | None = None,
        dataset_specs: list[dict[str, Any]] | None = None,
        size: Annotated[int, Field(ge=1, le=LARGEST)] | None = None,
        dataset_seed: Annotated[int, Field(ge=0, lt=_SEEDS)] | None = None,
        split: str | None = None,
        index: Annotated[int, Field(ge=0)] | None = None,
        **options: Any,
    ) -> ReasoningGymObservation:
        """Asks a question.

        Args:
            seed: Starts the random numbers anew, which draw the dataset's seed and the place of the first question.
            episode_id: The episode's name; by default a random one.
            dataset_name: The library's name of a dataset; by default the server's.
            dataset_config: Options of the dataset, as far as they are no default.
            dataset_specs: What a composite is made of: mappings with ``name``, ``weight`` and ``config``.
            size: How many questions the dataset has; 500 by default.
            dataset_seed: The library's own seed, instead of a drawn one.
            split: ``train``, ``validation`` or ``test``, instead of a dataset with a drawn seed.
            index: The question's place; by default the next one.
            **options: None are known; the server tells clients which there are.

        Raises:
            InvalidAction: There is no such dataset, option, split or place.
            EnvironmentFailure: The dataset cannot make the question.
        """
        name = dataset_name or (COMPOSITE if dataset_specs else self.default_dataset)
        config = self.default_config if dataset_config is None and name == self.default_dataset else dataset_config
        recipe = recipe_of(name, config, specs=dataset_specs, size=size, seed=dataset_seed, split=split)
        if index is not None and index >= recipe.size:
            raise InvalidAction(
                f"index: {index} is no place in {recipe.size} questions; the last one is {recipe.size - 1}."
            )
        # All is made before anything is kept: a refused reset changes nothing.
        random = self._random if seed is None else None
        random = random or np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        before = random.bit_generator.state
        try:
            dataset, place = self._next(recipe, random, is_seeded=seed is not None)
            place = place if index is None else index
            entry = dataset.entry(place)
        except BaseException:
            random.bit_generator.state = before
            raise
        self._random = random
        self._episode = _Episode(dataset, place, entry, episode_id or str(uuid4()))
        return self._observation()

    def step(
        self, action: ReasoningGymAction, timeout_s: float | None = None, **options: Any
    ) -> ReasoningGymObservation:
        """Answers the question.

        Raises:
            RuntimeError: No question is open.
        """
        episode = self._episode
        if episode is None or episode.score is not None:
            raise RuntimeError("No question is open: reset first.")
        made = episode.dataset.made
        episode.score = score(made, _source(episode), episode.entry, action.answer)
        return self._observation()

    @property
    def state(self) -> ReasoningGymState:
        """Where the question comes from."""
        episode = self._episode
        if episode is None:
            return ReasoningGymState(dataset_name=self.default_dataset, dataset_config=dict(self.default_config))
        recipe = episode.dataset.recipe
        return ReasoningGymState(
            episode_id=episode.episode_id,
            step_count=int(episode.score is not None),
            dataset_name=recipe.name,
            dataset_config=recipe.config,
            dataset_specs=list(recipe.specs),
            dataset_seed=episode.dataset.seed,
            size=recipe.size,
            split=recipe.split,
            index=episode.index,
        )

    def list_splits(self) -> list[Any]:
        """The splits of the server's dataset."""
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        """How many questions a split has.

        Raises:
            IndexError: There is no such split.
        """
        return len(self._places(split))

    def list_tasks(self, split: str) -> list[Any]:
        """All tasks of a split, without their questions, which take time to make.

        Raises:
            IndexError: There is no such split.
        """
        return [self._task(split, index) for index in self._places(split)]

    def get_task(self, split: str, index: int) -> Any:
        """One task with its question.

        Raises:
            IndexError: There is no such split, or no question at that place.
        """
        return self.get_task_range(split, self._places(split)[index], None)[0]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[Any]:
        """Some tasks of a split with their questions.

        Raises:
            IndexError: There is no such split.
        """
        places = self._places(split)[start:stop]
        recipe = recipe_of(self.default_dataset, self.default_config, specs=None, size=None, seed=None, split=split)
        dataset = _Dataset(recipe, SPLITS[split].seed, recipe.build(SPLITS[split].seed))
        return [{**self._task(split, index), "question": dataset.entry(index)["question"]} for index in places]

    def _next(self, recipe: Recipe, random: np.random.Generator, *, is_seeded: bool) -> tuple[_Dataset, int]:
        """The dataset that is asked for, and the place of its next question."""
        running = self._episode
        if running is not None and running.dataset.recipe == recipe and not is_seeded:
            return running.dataset, (running.index + 1) % recipe.size
        seed = int(random.integers(_SEEDS)) if recipe.seed is None else recipe.seed
        place = int(random.integers(recipe.size))
        if running is not None and running.dataset.recipe == recipe and running.dataset.seed == seed:
            return running.dataset, place
        return _Dataset(recipe, seed, recipe.build(seed)), place

    def _places(self, split: str) -> range:
        if split not in SPLITS:
            raise IndexError(f"There is no split {split!r}; there are {', '.join(SPLITS)}.")
        return range(SPLITS[split].size)

    def _task(self, split: str, index: int) -> dict[str, Any]:
        return {"dataset_name": self.default_dataset, "split": split, "index": index}

    def _observation(self) -> ReasoningGymObservation:
        episode = self._episode
        assert episode is not None
        entry, given, dataset = episode.entry, episode.score, episode.dataset
        told: dict[str, Any] = {"question": entry["question"], "done": given is not None}
        info = {
            "correct_answer": "",
            "dataset_metadata": "",
            "dataset_name": _source(episode),
            "dataset_seed": dataset.seed,
            "index": episode.index,
            "score": 0.0,
            "score_fault": "",
            "split": dataset.recipe.split,
        }
        if given is not None:
            # Not before: the metadata tell the solution too.
            answer = entry["answer"]
            metadata = to_jsonable_python(entry.get("metadata") or {}, fallback=_as_json)
            told |= {
                "reward": given.value,
                "score": given.value,
                "correct_answer": None if answer is None else str(answer),
                "dataset_metadata": metadata,
            }
            info |= {
                "correct_answer": "" if answer is None else str(answer),
                "dataset_metadata": json.dumps(metadata, ensure_ascii=False),
                "score": given.value,
                "score_fault": given.fault,
            }
        return ReasoningGymObservation(**told, metadata=info)


def environment_of(dataset: str, config: Mapping[str, Any]) -> type[ReasoningGymEnvironment]:
    """The environment of a server.

    Args:
        dataset: The dataset of resets that name none, and of the tasks.
        config: Its configuration. With one, and for another dataset than the default, the library is loaded at once.

    Raises:
        ConfigurationError: There is no such dataset, or it refuses the configuration.
    """
    if config or dataset != DEFAULT_DATASET:
        try:
            recipe_of(dataset, config, specs=None, size=None, seed=None, split="test").build(SPLITS["test"].seed)
        except InvalidAction as error:
            raise ConfigurationError(
                f"REASONING_GYM_DATASET={dataset} and REASONING_GYM_DATASET_CONFIG: {error.message}"
            ) from error
    body = {
        "__doc__": ReasoningGymEnvironment.__doc__,
        "__module__": __name__,
        "default_dataset": dataset,
        "default_config": dict(config),
    }
    return type("ReasoningGymEnvironment", (ReasoningGymEnvironment,), body)


def _source(episode: _Episode) -> str:
    """The dataset that the question is of: in a composite one of its own."""
    name = episode.dataset.recipe.name
    return str(episode.entry["metadata"]["source_dataset"]) if name == COMPOSITE else name


def _as_json(value: Any) -> Any:
    """Arrays and numbers of numpy as Python's; anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
