"""Checks of tools, by JSON-RPC on ``/ws``."""

from __future__ import annotations

from typing import Any

from openenv_gym.testing.conformance.checks import NotApplicable, Problem, check, require, require_object
from openenv_gym.testing.conformance.server import Frame, Server, Session

_METHOD_NOT_FOUND = -32601
_RESERVED = {"reset", "step", "state", "close"}


@check("mcp")
def mcp_frame(server: Server) -> None:
    """An ``mcp`` frame is answered by JSON-RPC with its id; an unknown method, by the error -32601."""
    with server.session() as session:
        answer = _called(session, "x-conformance/unknown")
        error = require_object(answer.get("error"), f"An unknown method is answered by {answer!r:.200}.")
        if not server.schemas.action.get("properties", {}).keys() & {"tool_name"}:
            return  # an environment without tools may refuse every method alike
        require(error.get("code") == _METHOD_NOT_FOUND, f"An unknown method has the error {error.get('code')}.")


@check("mcp")
def tools_list(server: Server) -> str:
    """``tools/list`` lists tools with a name and the schema of their arguments; none has a reserved name."""
    found = _tools(server)
    for tool in found:
        require(isinstance(tool.get("name"), str), f"A tool has no name: {tool!r:.200}.")
        require(isinstance(tool.get("inputSchema"), dict), f"The tool {tool['name']!r} has no inputSchema.")
        require(tool["name"] not in _RESERVED, f"A tool has the reserved name {tool['name']!r}.", "Rename it.")
    names = [tool["name"] for tool in found]
    require(len(set(names)) == len(names), f"Two tools have the same name: {sorted(names)}.")
    return ", ".join(names)[:200]


@check("mcp")
def declared_tools(server: Server) -> None:
    """The tools are those that ``openenv.yaml`` declares."""
    if server.declared.tools is None:
        raise NotApplicable("none are declared")
    found, declared = {str(tool.get("name")) for tool in _tools(server)}, set(server.declared.tools)
    require(
        found == declared,
        f"The server has {sorted(found)}, and {sorted(declared)} are declared.",
        "Mend validation.capabilities.declared_tools of openenv.yaml.",
    )


@check("style", "advisory")
def tools_described(server: Server) -> None:
    """Every tool has a description; openenv's client lists no tool at all where one has none."""
    bare = [str(tool.get("name")) for tool in _tools(server) if not tool.get("description")]
    if bare:
        raise Problem(f"Tools without a description: {', '.join(bare)}.", "Give their functions docstrings.")


def _tools(server: Server) -> list[dict[str, Any]]:
    with server.session() as session:
        answer = _called(session, "tools/list")
    if "error" in answer:
        raise NotApplicable("the environment has no tools")
    found = (answer.get("result") or {}).get("tools")
    told = f"tools/list is answered by {answer!r:.200}."
    require(isinstance(found, list), told)
    return [require_object(tool, told) for tool in found or ()]


def _called(session: Session, method: str) -> Frame:
    request = {"jsonrpc": "2.0", "method": method, "params": {}, "id": 7}
    reply = session.ask({"type": "mcp", "data": request})
    require(reply.get("type") == "mcp", f"An mcp frame is answered by the type {reply.get('type')!r}.")
    answer = require_object(reply.get("data"), f"data of an mcp frame is no object: {reply!r:.200}.")
    require(answer.get("jsonrpc") == "2.0", f"It is no JSON-RPC: {answer!r:.200}.")
    require(answer.get("id") == request["id"], f"The answer has the id {answer.get('id')!r}, not 7.")
    return answer
