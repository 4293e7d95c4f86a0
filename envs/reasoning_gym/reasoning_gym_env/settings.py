"""What a server asks where a client says nothing: the only module here that reads environment variables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_gym_protocol.errors import ConfigurationError

DEFAULT_DATASET = "leg_counting"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The dataset of resets that name none, and of the tasks.

    Attributes:
        dataset: Its name.
        config: Its configuration, as far as it is not the dataset's own default.
    """

    dataset: str = DEFAULT_DATASET
    config: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads ``REASONING_GYM_DATASET`` and ``REASONING_GYM_DATASET_CONFIG``.

        Raises:
            ConfigurationError: A value that cannot be, named with its variable. Whether there is such a dataset is
                known once the library is loaded.
        """
        read = os.environ if environ is None else environ
        text = read.get("REASONING_GYM_DATASET_CONFIG") or "{}"
        try:
            config = json.loads(text)
        except ValueError as error:
            raise ConfigurationError(f"REASONING_GYM_DATASET_CONFIG is no JSON: {error}") from error
        if not isinstance(config, dict):
            raise ConfigurationError(f"REASONING_GYM_DATASET_CONFIG is a JSON object of options, not {config!r}.")
        return cls(dataset=read.get("REASONING_GYM_DATASET") or DEFAULT_DATASET, config=config)
