"""What trainers tell a vector environment by."""

from __future__ import annotations

import pytest
from openenv_gym_registry.make import CatalogueVectorEnv, LocalVectorEnv
from openenv_gym_registry.make_gymnasium import GymnasiumVectorEnv
from openenv_gym_registry.make_space import SpaceVectorEnv

from openenv_gym import RemoteVectorEnv


@pytest.mark.parametrize(
    "kind", [CatalogueVectorEnv, GymnasiumVectorEnv, LocalVectorEnv, RemoteVectorEnv, SpaceVectorEnv]
)
def test_a_vector_environment_is_known_by_its_direct_bases(kind: type) -> None:
    # skrl's wrap_env looks no further, and only at their names.
    assert any(str(base).startswith("<class 'gymnasium.vector") for base in kind.__bases__)
