"""Sends every WebSocket message back, by picows on uvloop: what the kernel, the loop and the frames cost alone.

Prints its port as a JSON line.
"""

from __future__ import annotations

import json

import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_create_server


class Echo(WSListener):
    """Answers with as many bytes as an observation of the typed environment takes."""

    reply = b'{"type":"observation","data":{"observation":{"metadata":{},"values":[1.0,1.0,0.25,-0.5]},' + (
        b'"reward":1.0,"done":false}}' + b" " * 60
    )

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """Answers a message."""
        if frame.msg_type == WSMsgType.CLOSE:
            transport.disconnect()
        else:
            transport.send(WSMsgType.TEXT, self.reply)


async def serve() -> None:
    """Serves until the process is ended."""
    server = await ws_create_server(lambda _: Echo(), "127.0.0.1", 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
