"""The lanes' connections: requests out and replies in, on the event loop, a batch at a time."""
