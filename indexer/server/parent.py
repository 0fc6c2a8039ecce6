"""A process of the server ends with the one that started it, even if that is killed."""

from multiprocessing import parent_process

from moverank.rerank.runtime.exit_when import exit_when_ready


def end_with_parent() -> None:
    """End this process when the one that started it has ended; without one, do nothing."""
    parent = parent_process()
    if parent is not None:
        exit_when_ready(parent.sentinel)
