"""Graphs: what fits goes both ways, what does not is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.spaces.graph import GraphInstance

from openenv_gym.bridge.codecs.base import Codec, Refusal
from openenv_gym.bridge.codecs.graphs import GraphCodec
from openenv_gym.bridge.codecs.leaves import RangeCodec
from openenv_gym.bridge.codecs.lists import SequenceCodec, StackedCodec

COLOUR = spaces.Discrete(3)
WEIGHT = spaces.Discrete(10)


def stacked(space: spaces.Discrete) -> Codec:
    many = spaces.Sequence(space, stack=True)
    return StackedCodec(SequenceCodec(RangeCodec(space, 0), many), many)


CODEC = GraphCodec(spaces.Graph(COLOUR, WEIGHT), stacked(COLOUR), stacked(WEIGHT))
NO_EDGES = GraphCodec(spaces.Graph(COLOUR, None), stacked(COLOUR), None)


@pytest.mark.parametrize(
    ("codec", "payload"),
    [
        (CODEC, {"nodes": [0, 2, 1], "edges": [9, 3], "edge_links": [[0, 2], [1, 1]]}),
        (CODEC, {"nodes": [2], "edges": None, "edge_links": None}),
        (CODEC, {"nodes": [2], "edges": [], "edge_links": []}),
        (CODEC, {"nodes": [], "edges": None, "edge_links": None}),
        (NO_EDGES, {"nodes": [1, 1], "edges": None, "edge_links": None}),
    ],
)
def test_a_graph_travels_through_its_space(codec: Codec, payload: dict[str, Any]) -> None:
    value = codec.decode(payload)
    assert isinstance(value, GraphInstance)
    assert value in codec.space
    assert codec.encode(value) == payload


def test_links_are_what_gymnasium_draws_them_as() -> None:
    value = CODEC.decode({"nodes": [0], "edges": [1], "edge_links": [[0, 0]]})
    assert (value.edge_links.dtype, value.edge_links.shape) == (np.dtype(np.int32), (1, 2))


def test_without_edges_their_keys_may_be_missing() -> None:
    assert CODEC.decode({"nodes": [1]})[1:] == (None, None)


@pytest.mark.parametrize(
    ("codec", "change", "path"),
    [
        (CODEC, {"nodes": [3]}, ["nodes", "0"]),
        (CODEC, {"nodes": None}, ["nodes"]),
        (CODEC, {"edges": [1, 10]}, ["edges", "1"]),
        (CODEC, {"edges": None}, []),
        (CODEC, {"edge_links": None}, []),
        (CODEC, {"edge_links": [[0, 1]]}, ["edge_links"]),
        (CODEC, {"edge_links": [[0, 1], [0, 2]]}, ["edge_links"]),
        (CODEC, {"edge_links": [[0, 1], [-1, 0]]}, ["edge_links"]),
        (CODEC, {"edge_links": [[0, 1], [0.0, 1]]}, ["edge_links"]),
        (CODEC, {"edge_links": [[0, 1], [0]]}, ["edge_links"]),
        (CODEC, {"edge_links": "01"}, ["edge_links"]),
        (CODEC, {"edges": [], "edge_links": [[0, 1]]}, ["edge_links"]),
        (NO_EDGES, {}, ["edges"]),
    ],
)
def test_what_is_no_graph_of_the_space_is_refused_by_name(
    codec: Codec, change: dict[str, Any], path: list[str]
) -> None:
    graph = {"nodes": [0, 1], "edges": [1, 2], "edge_links": [[0, 1], [1, 0]], **change}
    with pytest.raises(Refusal) as raised:
        codec.decode(graph)
    assert raised.value.path == path


@pytest.mark.parametrize("payload", [None, [], [[0], None, None], {}, {"edges": None, "edge_links": None}])
def test_what_is_no_object_with_nodes_is_refused(payload: Any) -> None:
    with pytest.raises(Refusal):
        CODEC.decode(payload)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"nodes": [0]},
        (np.array([0]), None),
        (np.array([3]), None, None),
        (np.array([0]), np.array([1]), None),
        (np.array([0]), np.array([1]), np.array([[0, 1]])),
        (np.array([0]), np.array([1]), np.array([0, 0])),
    ],
)
def test_a_value_outside_the_space_is_not_written(value: Any) -> None:
    with pytest.raises(Refusal):
        CODEC.encode(value)
