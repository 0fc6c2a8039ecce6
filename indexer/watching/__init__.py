"""Watches: stored queries with a largest distance; each new or changed document that is within it yields an event."""
