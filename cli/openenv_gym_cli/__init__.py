"""The ``openenv`` command, to come."""
