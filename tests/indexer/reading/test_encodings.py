import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import UsageError
from moverank.indexer.reading import read_documents, read_threads, streams
from moverank.indexer.reading.encodings import Recoded
from moverank.indexer.values.documents import Part
from tests.indexer.reading.conftest import Read, Write

TEXT = "ein „Stecker“ für 5 €\n"
SAMPLES = {
    "a.txt": TEXT,
    "a.md": f"---\ntitle: {TEXT}---\n{TEXT}",
    "a.html": f"<title>{TEXT}</title>{TEXT}",
    "a.csv": f"id,text\n1,{TEXT}",
    "a.jsonl": f'{{"id": 1, "text": "{TEXT[:-1]}"}}\n',
    "a.json": f'[\n{{"id": 1, "text": "{TEXT[:-1]}"}}\n]',
    "labels": f"a\t{TEXT}b\t{TEXT}",
}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-16", "utf-32", "utf-7", "utf-8-sig"])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_named_encoding_gives_the_same_documents(write: Write, documents: Read, name: str, encoding: str) -> None:
    expected = documents(write(name, SAMPLES[name]))
    assert expected[0]
    assert documents(write(name, SAMPLES[name].encode(encoding)), encoding=encoding) == expected
    if encoding in ("utf-16", "utf-32", "utf-8-sig"):
        assert documents(name) == expected  # by the byte order mark


def test_messages_name_their_own_encoding(write: Write, documents: Read) -> None:
    head = b"From: x\nSubject: s\nContent-Type: text/plain; charset=utf-8\n\n"
    expected = documents(write("a.eml", head + TEXT.encode()))
    assert expected[0][0].parts == (Part(TEXT),)
    assert documents("a.eml", encoding="latin-1") == expected


def test_bytes_that_are_not_of_the_encoding_end_the_reading(write: Write, documents: Read) -> None:
    found, (rejection,) = documents(write("a.txt", b"one\ntwo\n\x81\nthree\n"), format="lines", encoding="cp1252")
    assert [document.parts[0].text for document in found] == ["one", "two"]
    assert str(rejection) == (
        "a.txt:2: byte 9 of the file is not cp1252, and the rest is not read: --encoding names another encoding"
    )


@pytest.mark.parametrize("name", ["nonsense", "hex", "rot13", "a b"])
def test_an_unknown_encoding_is_a_usage_error(write: Write, name: str) -> None:
    path = write("a.jsonl", "{}")
    for read in (read_documents, read_threads):
        with pytest.raises(UsageError, match=f"there is no encoding {name!r}"):
            read([path], encoding=name)


@given(text=st.text(), sizes=st.lists(st.integers(1, 9), min_size=1), encoding=st.sampled_from(["utf-16", "gb18030"]))
def test_any_pieces_are_recoded(text: str, sizes: list[int], encoding: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    pieces = itertools.cycle(sizes)
    data = io.BytesIO(text.encode(encoding))
    recoded = Recoded(lambda _: data.read(next(pieces)), encoding, "")
    assert b"".join(iter(lambda: recoded.read(next(pieces)), b"")).decode() == text


def test_memory_does_not_grow(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 1000)
    _, (rejection,) = documents(write("a.txt", ("x" * 2000).encode("utf-16")))
    assert "longer than 1,000 bytes" in rejection.reason
