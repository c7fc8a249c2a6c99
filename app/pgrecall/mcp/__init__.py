"""An MCP server: tools and resources by which a model remembers and recalls.

It needs the extra `mcp`. `pgrecall mcp` runs it.
"""

from pgrecall.mcp.memory_server import memory_server

__all__ = ["memory_server"]
