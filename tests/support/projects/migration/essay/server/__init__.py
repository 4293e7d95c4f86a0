"""The server of the essay."""
