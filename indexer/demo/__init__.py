"""The content of `moverank demo`: texts that need no network, and queries that show what the engine does."""
