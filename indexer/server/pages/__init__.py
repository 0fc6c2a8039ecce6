"""The pages of the server: plain HTML from templates, which works without scripts; extra `server`."""

from moverank.indexer.server.pages.router import pages_router

__all__ = ["pages_router"]
