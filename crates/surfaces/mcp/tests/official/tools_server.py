"""An MCP server with the official Python SDK: `tools_server.py stdio`, or `tools_server.py PORT` for streamable HTTP."""

import os
import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("official")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def shout(text: str) -> str:
    """Gives the text in capitals."""
    return text.upper()


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("it failed")


@server.tool()
def environment() -> list[str]:
    """The names of the variables of the process."""
    return sorted(os.environ)


@server.tool()
def identity() -> int:
    """The process."""
    return os.getpid()


@server.tool()
async def wait(file: str) -> str:
    """Writes a file, and waits for a minute."""
    with open(file, "w", encoding="utf-8") as out:
        out.write("began")
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        with open(file, "w", encoding="utf-8") as out:
            out.write("cancelled")
        raise
    return "done"


print("the server starts", file=sys.stderr, flush=True)
if sys.argv[1] == "stdio":
    server.run()
else:
    server.run(transport="streamable-http", port=int(sys.argv[1]))
