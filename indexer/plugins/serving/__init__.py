"""Serves collections over HTTP: the API that engines speak, JSON of the command line, and pages (extra `server`)."""
