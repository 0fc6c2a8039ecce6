"""The words of a file, such as stop words."""

from pathlib import Path

from moverank.indexer.errors import ReadError


def read_words(name: str, what: str) -> tuple[str, ...]:
    """Return the different words of the file `name` as written, in order; `what` they are, as "the stop words".

    Raises ReadError for a file that cannot be read, or is not UTF-8.
    """
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"{name}: {what} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{name}: {what} are not UTF-8: save the file as UTF-8") from error
    return tuple(dict.fromkeys(text.split()))
