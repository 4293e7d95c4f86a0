"""The commands: one module each, with a function of its name."""
