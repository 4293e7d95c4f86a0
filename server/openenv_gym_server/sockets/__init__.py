"""Accepted WebSockets: over ASGI, which every server has, or directly over uvicorn's transport, which is faster."""
