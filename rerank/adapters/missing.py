"""The error of an adapter whose host is not installed."""

from moverank.rerank.errors import MissingExtra


def missing(host: str, extra: str) -> MissingExtra:
    """Return the error to raise: the package of `host` is not installed, and `extra` of this package installs it."""
    return MissingExtra(
        f"the adapter for {host} needs a package that is not installed: python -m pip install 'moverank[{extra}]'"
    )
