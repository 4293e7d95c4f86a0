"""Codec of graphs: nodes, edges, and which nodes each edge joins."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.graph import GraphInstance
from numpy.typing import NDArray

from openenv_gym.bridge.codecs.base import Codec, Refusal, as_array, shown

_PARTS = ("nodes", "edges", "edge_links")


class GraphCodec(Codec):
    """A Graph as an object of ``nodes``, ``edges`` and ``edge_links``; the last two are null in a graph without edges.

    Args:
        space: The space.
        nodes: The codec of all nodes, stacked.
        edges: The codec of all edges, stacked; None where the space has none.
    """

    def __init__(self, space: spaces.Graph, nodes: Codec, edges: Codec | None) -> None:
        self.space = space
        self._nodes = nodes
        self._edges = edges

    def decode(self, payload: Any) -> Any:
        """Reads the object; ``edge_links`` become an int32 array of shape ``(edges, 2)``."""
        if not isinstance(payload, dict) or "nodes" not in payload:
            raise Refusal(f"{shown(payload)} is no object with nodes")
        told: Any = payload.get("edges")
        links: Any = payload.get("edge_links")
        nodes = _within("nodes", self._nodes.decode, payload["nodes"])
        if not self._has_edges(told, links):
            return GraphInstance(nodes, None, None)
        edges = _within("edges", self._decode_edges, told)
        links = _within("edge_links", _links, links, len(told), len(payload["nodes"]))
        return GraphInstance(nodes, edges, links)

    def encode(self, value: Any) -> Any:
        """Writes a ``GraphInstance``, or whatever has its three parts in their order."""
        if not isinstance(value, tuple | list) or len(value) != len(_PARTS):
            raise Refusal(f"{shown(value)} is no graph of nodes, edges and edge_links")
        nodes = _within("nodes", self._nodes.encode, value[0])
        if not self._has_edges(value[1], value[2]):
            return dict(zip(_PARTS, (nodes, None, None), strict=True))
        edges = _within("edges", self._encode_edges, value[1])
        links = _within("edge_links", _links, value[2], len(edges), len(nodes))
        return dict(zip(_PARTS, (nodes, edges, links.tolist()), strict=True))

    def _has_edges(self, edges: Any, links: Any) -> bool:
        if (edges is None) != (links is None):
            raise Refusal("of edges and edge_links one is there and the other is not")
        return edges is not None

    def _decode_edges(self, payload: Any) -> Any:
        return self._edge_codec().decode(payload)

    def _encode_edges(self, value: Any) -> Any:
        return self._edge_codec().encode(value)

    def _edge_codec(self) -> Codec:
        if self._edges is None:
            raise Refusal("the space has no edges")
        return self._edges


def _links(value: Any, edges: int, nodes: int) -> NDArray[np.int32]:
    array = as_array(value)
    if array.size == 0 and edges == 0:
        return np.zeros((0, 2), np.int32)
    if array.shape != (edges, 2) or array.dtype.kind not in "iu":
        raise Refusal(f"{shown(value)} is no list of {edges} pairs of integers")
    if not ((array >= 0) & (array < nodes)).all():
        raise Refusal(f"{shown(value)} names other nodes than the {nodes} that there are")
    return array.astype(np.int32)


def _within(name: str, convert: Any, *arguments: Any) -> Any:
    try:
        return convert(*arguments)
    except Refusal as refusal:
        raise refusal.within(name) from None
