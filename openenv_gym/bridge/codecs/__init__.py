"""Payloads to values of a space and back: one class for each form that a payload can have."""
