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


def test_the_error_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"nowhere\.txt: the stop words cannot be read: No such file"):
        read_words(str(tmp_path / "nowhere.txt"), "the stop words")


def test_a_directory_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="cannot be read: Is a directory"):
        read_words(str(tmp_path), "the stop words")


def test_another_encoding_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(ReadError, match=r"stop\.txt: the stop words are not UTF-8: save the file as UTF-8"):
        read_words(str(tmp_path / "stop.txt"), "the stop words")
