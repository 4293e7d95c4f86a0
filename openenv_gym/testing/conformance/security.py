"""Advice on who can reach a server. openenv's own asks nobody for anything."""

from __future__ import annotations

import httpx

from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require
from openenv_gym.testing.conformance.server import Refused, Server
from openenv_gym.transports.address import is_loopback

_ELSEWHERE = "elsewhere.example"
_REFUSALS = (401, 403, 404, 421)
"""404 is how the Hub hides a private Space."""


@check("security", "advisory")
def token_asked_for(server: Server) -> None:
    """Nobody gets in without the token: not to a page, not to ``/ws``."""
    if not server.options.request_headers():
        raise Problem("The server asks for no token.", "Set OPENENV_GYM_TOKEN for it, wherever others can reach it.")
    status = server.ask("GET", "/schema", headers={}).status_code
    require(status in _REFUSALS, f"GET /schema without the token is answered with HTTP {status}.", "Enforce it.")
    try:
        with server.socket(headers={}):
            raise Problem("/ws can be opened without the token.", "Enforce it before the handshake is accepted.")
    except Refused:
        return


@check("security", "advisory")
def foreign_origin_refused(server: Server) -> None:
    """A web page of another site cannot open ``/ws``."""
    try:
        with server.socket(headers={}, origin=f"https://{_ELSEWHERE}"):
            raise Problem(
                f"/ws can be opened by pages of https://{_ELSEWHERE}: any page that is open in a browser on this "
                "machine can drive the environment.",
                "Refuse origins that you do not know.",
            )
    except Refused:
        return


@check("security", "advisory")
def foreign_host_refused(server: Server) -> None:
    """A request for another host's name is refused, so that no name can be made to point here."""
    if not is_loopback(server.base_url):
        raise NotApplicable("what stands before the server decides which hosts it has")
    status = server.ask("GET", "/schema", headers={"Host": _ELSEWHERE}).status_code
    require(
        status != httpx.codes.OK, f"GET /schema for the host {_ELSEWHERE} is answered.", "Refuse hosts you do not know."
    )


@check("security", "advisory")
def no_compression(server: Server) -> None:
    """``/ws`` compresses no frames: a small frame cannot become a huge one, and steps are quicker."""
    with server.socket(compression="deflate") as socket:
        used = [extension.name for extension in socket.protocol.extensions]
    require(not used, f"/ws uses {', '.join(used)}.", "Start uvicorn with --ws-per-message-deflate false.")
