"""The vector wire, ``openenv-gym.vector.v1``: many lanes on one connection. See docs/vector-wire.md."""
