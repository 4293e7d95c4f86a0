"""The ids that importing the package registers."""

from __future__ import annotations

import copy
import inspect
import json
import re
import warnings
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec, load_env_creator, parse_env_id

import openenv_gym  # noqa: F401  (it registers the ids)
from tests.letter.requirements import requirement

SPECS = {id: spec for id, spec in gymnasium.registry.items() if spec.namespace == "openenv"}
SERVED_ELSEWHERE = {"openenv/Remote-v0", "openenv/Gymnasium-v0", "openenv/Space-v0"}
BUNDLED = [id for id, spec in SPECS.items() if id not in SERVED_ELSEWHERE and "space" not in spec.kwargs]
"""The ids whose keywords are known without a server."""


@requirement("P2")
def test_ids_can_be_parsed_imported_and_told_apart() -> None:
    assert {"openenv/Blackjack-v0", "openenv/CartPole-v1", "openenv/Remote-v0"} <= SPECS.keys()
    versions: dict[str, list[int | None]] = {}
    for id in SPECS:
        assert re.fullmatch(r"openenv/[\w.-]+", id), id
        _, name, version = parse_env_id(id)
        versions.setdefault(name, []).append(version)
    mixed = {name: found for name, found in versions.items() if None in found and len(found) > 1}
    assert mixed == {}


@requirement("P3")
@pytest.mark.parametrize("id", SPECS)
def test_a_spec_is_data(id: str) -> None:
    spec = SPECS[id]
    for entry_point in (spec.entry_point, spec.vector_entry_point):
        assert isinstance(entry_point, str)
        assert inspect.isclass(load_env_creator(entry_point))
    assert json.loads(json.dumps(spec.kwargs)) == copy.deepcopy(spec.kwargs)
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert spec.additional_wrappers == ()


@requirement("P4")
@pytest.mark.parametrize("id", SPECS)
def test_every_class_names_its_render_mode_and_declares_its_metadata(id: str) -> None:
    creator: Any = load_env_creator(str(SPECS[id].entry_point))
    assert inspect.signature(creator).parameters["render_mode"].default is None
    assert isinstance(creator.metadata["render_modes"], list)


@requirement("P4")
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize("id", BUNDLED)
def test_an_unknown_keyword_is_a_type_error_in_pythons_words(id: str, make: Any) -> None:
    # TorchRL asks every environment for a frameskip, which games of the Atari have.
    keyword = "frame_skipped" if "Atari" in id else "frameskip"
    # At an address that nobody answers: whatever was tried before would be another error.
    with pytest.raises(TypeError, match=f"got an unexpected keyword argument '{keyword}'"):
        make(id, base_url="http://127.0.0.1:9", **{keyword: 1})


@requirement("P4")
@pytest.mark.parametrize("id", ["openenv/Blackjack-v0", "openenv/CartPole-v1"])
def test_trainers_that_ask_for_pictures_first_get_an_environment_at_last(id: str, wire: dict[str, Any]) -> None:
    """As Stable-Baselines3 does it: with a render mode, and without one after a TypeError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium's own, that the class does not list the mode
            env = gymnasium.make(id, render_mode="rgb_array", **wire)
    except TypeError:
        env = gymnasium.make(id, **wire)
    assert env.reset(seed=1)[0] in env.observation_space
    env.close()
