"""openenv_gym_server."""
