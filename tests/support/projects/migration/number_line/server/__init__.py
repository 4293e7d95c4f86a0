"""The server of the walk."""
