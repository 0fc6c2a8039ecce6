"""A process of the server ends with the one that started it, even if that is killed."""

import os
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def end_with_parent() -> None:
    """End this process when the one that started it has ended; without one, do nothing."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, name="moverank-parent", daemon=True).start()
