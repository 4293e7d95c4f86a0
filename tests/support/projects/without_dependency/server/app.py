"""Needs a module that nobody has."""

import importlib

importlib.import_module("chess_rules_nobody_has")
