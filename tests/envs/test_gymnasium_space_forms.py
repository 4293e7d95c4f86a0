"""Values of spaces travel as JSON and come back the same."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import jsonschema
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium_env.space_forms import reader_of, schema_of, writer_of
from openenv_gym_protocol.errors import ConfigurationError
from openenv_gym_protocol.vector import codec
from openenv_gym_protocol.vector.frames import Batch, Rows

from openenv_gym.bridge.columns import plain
from openenv_gym.bridge.schema.exact import exact_codec, exact_root
from tests.support.gymnasium_values import same
from tests.support.odd_envs import CHOICES, NESTED, PIXELS

READABLE: list[gymnasium.Space[Any]] = [
    spaces.Discrete(3, start=-2),
    spaces.Box(-np.inf, np.inf, (2, 3), np.float32),
    spaces.Box(-1, 1, (), np.float64),
    spaces.Box(-100, 100, (3,), np.int16),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    spaces.MultiBinary((2, 2)),
    spaces.Text(5, charset="abé "),
    spaces.Tuple((spaces.Discrete(2), spaces.Tuple((spaces.Box(0, 1, (2,)),)))),
    CHOICES,
    spaces.Sequence(spaces.Box(0, 1, (2,)), stack=True),
    spaces.Box(0, 1, (0, 2)),
    spaces.Graph(spaces.Box(-1, 1, (2,), np.float64), spaces.Discrete(3)),
    spaces.Graph(spaces.Discrete(4), None),
]
GRAPH = spaces.Graph(spaces.Discrete(2), spaces.Discrete(2))
WRITABLE = [
    *READABLE,
    PIXELS,
    NESTED,
    spaces.OneOf((PIXELS, spaces.Discrete(2))),
    spaces.Graph(PIXELS, spaces.Box(0, 1, (1,))),
]


@pytest.mark.parametrize("space", READABLE, ids=str)
def test_an_action_is_read_as_it_was_written(space: gymnasium.Space[Any]) -> None:
    write, read = writer_of(space), reader_of(space)
    space.seed(1)
    for _ in range(50):
        value = space.sample()
        again = read(json.loads(json.dumps(write(value))))
        assert again in space
        assert same(again, value)


@pytest.mark.parametrize("space", WRITABLE, ids=str)
def test_the_client_reads_an_observation_as_it_was_written(space: gymnasium.Space[Any]) -> None:
    schema = schema_of(space, pixels=True)
    model = {"type": "object", "properties": {"observation": schema}, "required": ["observation"]}
    client, write = exact_root(space, model, frozenset()), writer_of(space)
    space.seed(2)
    for _ in range(20):
        value = space.sample()
        told = json.loads(json.dumps(write(value)))
        jsonschema.validate(told, schema)
        read = client.decode({"observation": told})
        assert read in space
        assert same(read, value)


@pytest.mark.parametrize("space", WRITABLE, ids=str)
def test_the_client_reads_the_arrays_of_an_observation_inside_a_vector_frame(space: gymnasium.Space[Any]) -> None:
    schema = schema_of(space, pixels=True)
    client, write = exact_codec(space, schema), writer_of(space, arrays=True)
    assert client is not None
    space.seed(3)
    for _ in range(20):
        value = space.sample()
        batch = Batch(values=[codec.encode_value(write(value))])
        told = codec.decode_reply(codec.encode(Rows(id=1, lanes=[0], observations=batch, rewards=bytes(8), flags=b"0")))
        assert isinstance(told, Rows)
        assert told.observations is not None
        assert told.observations.values is not None
        assert same(client.decode(plain(told.observations.values[0])), value)


@pytest.mark.parametrize(
    ("space", "payload"),
    [
        (spaces.Discrete(2), 2),
        (spaces.Discrete(2), 1.0),
        (spaces.Discrete(2), True),
        (spaces.Box(0, 1, (2,)), [0.5]),
        (spaces.Box(0, 1, (2,)), [0.5, 2]),
        (spaces.Box(0, 1, (2,)), [[0.5], [1, 2]]),
        (spaces.Box(0, 1, (2,)), ["a", "b"]),
        (spaces.Box(0, 1, (2,)), None),
        (spaces.Box(0, 9, (2,), np.int64), [0.5, 1]),
        (spaces.Box(0, 255, (1,), np.uint8), [256]),
        (spaces.MultiBinary(2), [0, 2]),
        (spaces.Text(3), "long"),
        (spaces.Text(3), 3),
        (CHOICES, {"choice": [0, 1]}),
        (CHOICES, []),
        (CHOICES["choice"], [5, 0]),
        (CHOICES["choice"], 1),
        (spaces.Tuple((spaces.Discrete(2),)), [0, 1]),
        (spaces.Sequence(spaces.Discrete(2), stack=True), [0, 2]),
        (spaces.Sequence(spaces.Text(1), stack=True), "ab"),
        (GRAPH, None),
        (GRAPH, {"edges": None, "edge_links": None}),
        (GRAPH, {"nodes": [2], "edges": None, "edge_links": None}),
        (GRAPH, {"nodes": [0], "edges": [1], "edge_links": None}),
        (GRAPH, {"nodes": [0], "edges": None, "edge_links": [[0, 0]]}),
        (GRAPH, {"nodes": [0], "edges": [1], "edge_links": [[0, 1]]}),
        (GRAPH, {"nodes": [0], "edges": [1], "edge_links": [[0, 0], [0, 0]]}),
        (spaces.Graph(spaces.Discrete(2), None), {"nodes": [0], "edges": [1], "edge_links": [[0, 0]]}),
    ],
)
def test_what_is_no_value_of_the_space_is_refused(space: gymnasium.Space[Any], payload: Any) -> None:
    with pytest.raises(ValueError, match=r"is (no|outside)|shape|argument|cannot"):
        reader_of(space)(payload)


class Unknown(gymnasium.Space[Any]):
    """A space that is not Gymnasium's."""


def test_a_space_without_a_form_is_told() -> None:
    for make in (writer_of, reader_of, lambda space: schema_of(space, pixels=False)):
        with pytest.raises(ConfigurationError, match="Unknown"):
            make(Unknown())
