"""Ends a process of the server with the process that started it, even if that process is killed."""

import os
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def end_with_parent() -> None:
    """End this process when its parent process has ended; without a parent, do nothing."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, name="moverank-watch", daemon=True).start()
