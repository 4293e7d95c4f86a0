"""The keeper: a process of its own that ends the containers of a pool on one engine, whatever has been killed.

It is run by the watchdog, see ``openenv_gym.providers.watchdog.keepers`` for what the two say to each other, and it
lives as long as that or a little longer: at the end of file it ends all that it kept. What it has not been told to
keep it removes by its labels only, see ``openenv_gym.providers.docker.labels``.
"""
