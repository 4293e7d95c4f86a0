"""The ``openenv`` command."""
