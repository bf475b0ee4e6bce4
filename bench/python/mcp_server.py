"""An echo tool on the official `mcp` package, as its guide sets a server up."""

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Says it back."""
    return text


if __name__ == "__main__":
    server.run()
