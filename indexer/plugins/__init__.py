"""What the core does without: each folder adds commands, operations, stores or databases, found by entry points.

A plug-in knows the core, and no other plug-in; the core imports none of them.
"""
