"""Ends a process of a pool as soon as what it works for is gone."""

import os
from multiprocessing.connection import Connection, wait
from threading import Thread


def exit_when_ready(watched: Connection | int) -> None:
    """Exit at once when the other end of a pipe is closed, or the process of a sentinel has ended, even if killed."""

    def watch() -> None:
        wait([watched])
        os._exit(1)

    Thread(target=watch, name="moverank-watch", daemon=True).start()
