"""``python -m openenv_gym_cli``: the command, whatever else is called ``openenv`` here."""

from openenv_gym_cli.entry import main

main()
