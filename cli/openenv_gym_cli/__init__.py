"""openenv_gym_cli."""
