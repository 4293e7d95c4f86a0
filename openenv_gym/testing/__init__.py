"""Conformance kits: inherit their tests to check a provider of your own."""
