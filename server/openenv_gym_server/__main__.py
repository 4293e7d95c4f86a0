"""``python -m openenv_gym_server server.app:app``."""

from openenv_gym_server.serve import main

main()
