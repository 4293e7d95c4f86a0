"""openenv_gym."""
