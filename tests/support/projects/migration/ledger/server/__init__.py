"""The server of the ledger."""
