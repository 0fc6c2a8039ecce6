from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.inputs.word_list import read_words
from moverank.rerank.words.tokenizer import stop_words


def test_the_words_of_a_file_are_split_as_documents_are(tmp_path: Path) -> None:
    file = tmp_path / "stop.txt"
    file.write_bytes("\ufeffThe, CAFÉ\r\nwell-known\nthe\n\n".encode())
    assert stop_words(read_words(str(file), "the stop words")) == {"café", "known", "the", "well"}


def test_an_empty_file_is_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").touch()
    assert read_words(str(tmp_path / "stop.txt"), "the stop words") == ()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.txt", "cannot be read: No such file"),
        ("folder", "cannot be read: Is a directory"),
        ("stop.txt", "are not UTF-8: save the file as UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_named(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "stop.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(ReadError, match=f"{name}: the stop words {reason}"):
        read_words(str(tmp_path / name), "the stop words")
