"""Prints warnings that the library logs as notes."""

import logging


class NotesHandler(logging.Handler):
    """Prints each log record as a line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; the level is not shown."""
        from moverank.indexer.formatters.terminal import note

        note(record.getMessage())
