"""The pages of the server: plain HTML from templates, which works without scripts; extra `server`."""

from moverank.indexer.server.pages.problem_page import ProblemPages
from moverank.indexer.server.pages.router import pages_router

__all__ = ["ProblemPages", "pages_router"]
