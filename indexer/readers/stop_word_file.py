"""Which words are left out: the default list, a file's, or none."""

from pathlib import Path

from moverank.indexer.errors import ReadError
from moverank.rerank.words.tokenizer import default_stop_words, split_words


def choose_stop_words(name: str | None) -> tuple[str, ...]:
    """Return the stop words that a name stands for, sorted: None for the default list, "none", or a file of words."""
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
    return tuple(sorted(split_words([text])))
