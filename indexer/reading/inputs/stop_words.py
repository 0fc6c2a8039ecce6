"""The stop words of a file."""

from pathlib import Path

from moverank.indexer.errors import ReadError


def read_stop_words(name: str) -> tuple[str, ...]:
    """Return the words of the file `name` as written, sorted; ReadError if it cannot be read, or is not UTF-8."""
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"{name}: the stop words cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{name}: the stop words are not UTF-8: save the file as UTF-8") from error
    return tuple(sorted(set(text.split())))
