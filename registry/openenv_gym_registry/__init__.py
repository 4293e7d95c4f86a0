"""openenv_gym_registry."""
