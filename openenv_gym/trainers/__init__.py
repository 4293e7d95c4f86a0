"""What reinforcement-learning trainers and LLM trainers need besides the ids.

Each module is for one trainer, is imported by its name and needs that trainer installed; none of them is loaded
by ``import openenv_gym``.
"""
