"""Where sessions' environments run: a thread each, the server's loop, or one loop for all async ones."""
