"""Providers start and stop servers somewhere; the pool shares them over a process tree.

This file imports nothing, because the watchdog's process imports it and must stay small.
"""
