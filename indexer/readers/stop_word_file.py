"""The stop words of a collection: the default list, those of a file, or none."""

from pathlib import Path

from moverank.indexer.errors import ReadError
from moverank.rerank.words.stop_words import default_stop_words, parse_stop_words


def choose_stop_words(name: str | None) -> tuple[str, ...]:
    """Return sorted stop words: the default list for None, none for "none", else those of the file `name`.

    Raises ReadError for a file that cannot be read, or is not UTF-8.
    """
    if name is None:
        return tuple(sorted(default_stop_words()))
    if name == "none":
        return ()
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"{name}: the stop words cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{name}: the stop words are not UTF-8: save the file as UTF-8") from error
    return tuple(sorted(parse_stop_words(text)))
