"""Collections as tools of agents, by the Model Context Protocol (extra `mcp`).

It adds the command `mcp`, which makes a tool of each of some operations, and of any other that servers answer. It
changes nothing. Clients of the protocol, such as assistants that are to search a collection, start it.
"""
