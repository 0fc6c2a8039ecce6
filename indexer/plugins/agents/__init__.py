"""Collections as tools of agents, by the Model Context Protocol (MCP); the command is `mcp_command`.

The tools are made of the records of operations. Nothing outside of this folder imports it, but by entry points. Needs
the extra `mcp`.
"""
