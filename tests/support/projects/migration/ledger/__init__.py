"""A ledger that is kept by tools, written for openenv."""

from .client import LedgerEnv  # noqa: TID252

__all__ = ["LedgerEnv"]
