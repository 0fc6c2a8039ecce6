import gzip
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.importing import import_vectors, same_source
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.rerank.words.embedding import Embedding

# Words without the separators of the formats.
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\0"), min_size=1, max_size=6)
ROWS = st.integers(1, 4).flatmap(
    lambda d: st.dictionaries(
        PLAIN,
        st.lists(st.floats(-LARGEST, LARGEST, width=32), min_size=d, max_size=d),
        min_size=1,
        max_size=8,
    )
)

LARGEST = 2.0**49  # the largest power of two under 1e15


def _same(embedding: Embedding, words: list[str], vectors: NDArray[np.float32]) -> None:
    assert list(embedding.words) == words
    np.testing.assert_array_equal(embedding.vectors, vectors)
    assert embedding.find(words).tolist() == list(range(len(words)))


def _text(rows: dict[str, list[float]], *, header: bool, end: str = "\n") -> bytes:
    lines = [f"{word} {' '.join(map(repr, row))}" for word, row in rows.items()]
    if header:
        lines.insert(0, f"{len(rows)} {len(next(iter(rows.values())))}")
    return (end.join(lines) + end).encode()


def _binary(rows: dict[str, list[float]], *, newline: bool = True) -> bytes:
    data = f"{len(rows)} {len(next(iter(rows.values())))}\n".encode()
    for word, row in rows.items():
        data += word.encode() + b" " + np.array(row, "<f4").tobytes() + (b"\n" if newline else b"")
    return data


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("name", ["v.bin", "v.txt", "v.vec", "v"])
def test_files_of_gensim_are_read_under_any_name(
    keyed: Any, tmp_path: Path, name: str, binary: bool, zipped: bool
) -> None:
    path = tmp_path / name
    keyed.save_word2vec_format(str(path), binary=binary)
    if zipped:
        path = path.rename(tmp_path / f"{name}.gz")
        path.write_bytes(gzip.compress(path.read_bytes()))
    embedding = import_vectors(str(path), tmp_path / "out")
    _same(embedding, keyed.index_to_key, KeyedVectors.load_word2vec_format(str(path), binary=binary).vectors)


@given(ROWS, st.booleans(), st.booleans())
def test_binary_rows_are_read_back(
    tmp_path: Path, rows: dict[str, list[float]], newline: bool, normalize: bool
) -> None:
    path = tmp_path / "v.bin"
    expected = np.array(list(rows.values()), np.float32)
    # The bytes of one number can be the end of a line of text, as those of 659619 are "0\\n!I".
    assume(expected.shape[1] > 1 or b"\n" not in expected.tobytes())
    path.write_bytes(_binary(rows, newline=newline))
    embedding = import_vectors(str(path), tmp_path / "out", normalize=normalize)
    if normalize:
        lengths = np.linalg.norm(expected.astype(float), axis=1, keepdims=True)
        expected = (expected / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        np.testing.assert_allclose(embedding.vectors, expected, rtol=1e-5, atol=1e-38)
        assert embedding.unit
    else:
        _same(embedding, list(rows), expected)


@given(ROWS, st.booleans(), st.sampled_from(["\n", " \n", "\r\n"]))
def test_text_rows_are_read_back(tmp_path: Path, rows: dict[str, list[float]], header: bool, end: str) -> None:
    if not header and re.fullmatch(r"[ \t]*\d+ \d+", _text(rows, header=False).decode().split("\n")[0]):
        return  # a single word like a number, of one dimension, is read as a header
    path = tmp_path / "v.txt"
    path.write_bytes(_text(rows, header=header, end=end))
    _same(import_vectors(str(path), tmp_path / "out"), list(rows), np.array(list(rows.values()), np.float32))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("header", ["", "2 3\n"])
@pytest.mark.parametrize(("after", "between"), [("\t", " "), ("\t", "\t"), ("  ", "  "), (" ", " ")])
def test_a_byte_order_mark_and_other_blanks(tmp_path: Path, mark: str, header: str, after: str, between: str) -> None:
    rows = [
        f"{word}{after}{between.join(numbers)}\n" for word, numbers in (("ant", "123"), ("bee-7", ["4.5", "-6", ".5"]))
    ]
    (tmp_path / "v.txt").write_text(mark + header + "".join(rows))
    import_vectors(str(tmp_path / "v.txt"), tmp_path / "imported")
    _same(open_vectors(tmp_path / "imported"), ["ant", "bee-7"], np.array([[1, 2, 3], [4.5, -6, 0.5]], np.float32))


def test_words_with_spaces_as_in_glove(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(", 1 2\n. . . 3 4\nat name@domain.com 5 6\n7 seas 7 8\nx\u00a0y\u0085 9 10\n".encode())
    embedding = import_vectors(str(path), tmp_path / "out")
    assert list(embedding.words) == [",", ". . .", "at name@domain.com", "7 seas", "x\u00a0y\u0085"]
    assert embedding.vectors[2].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("v.txt", b"", "is empty: it holds no word vectors"),
        ("v.txt", b"\n \n", "is empty"),
        ("v.txt.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("v.txt", b"2 2\na 1 2\nb 1 nan\n", r"line 3 \('b'\): a number is not finite"),
        ("v.txt", b"a 1 2\nb inf 2\n", r"line 2 \('b'\): a number is not finite"),
        ("v.txt", b"a 1 2\nb 1e300 2\n", r"line 2 \('b'\): a number is not finite"),
        ("v.txt", b"2 2\na 1 2\nb 1\n", "line 3 has 1 numbers, not 2: remove or correct it"),
        ("v.txt", b"2 2\na 1 2\nb 1 2 3\n", "line 3 has 3 numbers, not 2"),
        ("v.txt", b"a 1 2\nb 1 2 3\n", "line 2 has 3 numbers, not 2"),
        ("v.txt", b"a 1 2\n\nb 1 2\n", "line 2 has 0 numbers, not 2"),
        ("v.txt", b"a 1 2\nb 1 x2\n", "line 2: b'x2' is not a number"),
        ("v.txt", b"a 1 2\nb  2\n", "line 2: b'' is not a number"),
        ("v.txt", b"a 1 2\n 1 2\n", "line 2 has no word before its vector"),
        ("v.txt", b"3 1\na 1\nb 1\na 2\n", "the word 'a' twice, in line 2 and line 4: remove one"),
        ("v.txt", b"a 1\nb 1\na 2\n", "the word 'a' twice, in line 1 and line 3"),
        ("v.txt", b"1 2\na 1 2\nb 1 2\n", "line 3 is beyond the 1 words that the header promises"),
        ("v.txt", b"3 1\nabc 1\nb 1.00\n", "ends after 2 words, but its header promises 3"),
        ("v.txt", b"2 1\na 1\nb\n", "line 3 has 0 numbers, not 1"),
        ("v.txt", b"0 2\n", "line 1 promises 0 words of 2 numbers: correct the header"),
        ("v.txt", b"2 0\na\nb\n", "line 1 promises 2 words of 0 numbers"),
        ("v.txt", b"2 999999\na 1\n", "promises 2 words of 999999 numbers"),
        ("v.txt", b"99999999999 300\na 1\n", "at least .* bytes, but the file has 20: it is cut short or its header"),
        ("v.txt", b"hello\nworld\n", "is no file of word vectors: word2vec"),
        ("v.bin", b"\x00\x01\x02\xff" * 99, "is no file of word vectors"),
        ("v.txt", b"a" * (1 << 24) + b" 1", "is no file of word vectors"),
        ("v.txt", b"a 1\n" + b"a" * ((1 << 24) + (1 << 20)), "has a line of over"),
        ("v.txt", b"x" * 70_000 + b" 1 2\n", "line 1 has a word of 70000 bytes"),
        ("v.zip", b"PK\x03\x04 and so on", "is a zip archive: unpack it"),
        ("v.txt", "é 1\nà 1\na 1\n".encode("latin-1"), "line 1: this word and 1 more are not UTF-8: convert the file"),
        ("v.txt.gz", gzip.compress(b"2 1\na 1\nb 1\n", mtime=0)[:-9], "damaged or cut short"),
        ("v.txt.gz", gzip.compress(b"999999999 3\nab 1 2 3\n", mtime=0), "ends after 1 words, but its header promises"),
        ("v.bin", b"2 2\na " + b"\0" * 8 + b"b " + b"\0" * 8 + b"c", "continues after the 2 words of 2 numbers"),
        ("v.bin", b"2 2\na " + b"\0" * 8 + b"bbbb " + b"\0" * 5, "ends after 1 words, but its header promises 2"),
        ("v.bin", b"2 2\na " + b"\0" * 8 + b" " + b"\0" * 9, "word 2 has no word before its vector"),
        ("v.bin", b"2 1\na " + b"\0" * 4 + b"a " + b"\0" * 4, "the word 'a' twice, in word 1 and word 2"),
        ("v.bin", b"1 1\na " + np.float32(np.inf).tobytes(), r"word 1 \('a'\): a number is not finite"),
        ("v.bin", b"1000 1\n" + b"a" * 70_000, "word 1 has no end"),
        ("v.bin", b"99999999999 300\na " + b"\0" * 50, "at least .* bytes, but the file has 68"),
        ("v.kv", b"\x80\x04junk", "is a pickle, .*: give --trust-pickle if you trust its author"),
        ("v.bin.gz", gzip.compress(b"\x80\x02junk", mtime=0), "is a pickle"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_one_sentence(tmp_path: Path, name: str, data: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(VectorsError, match=sentence) as caught:
        import_vectors(str(tmp_path / name), tmp_path / "out")
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=r"none\.bin cannot be read: No such file"):
        import_vectors(str(tmp_path / "none.bin"), tmp_path / "out")
    with pytest.raises(VectorsError, match="is a directory without a static embedding model: that has the files"):
        import_vectors(str(tmp_path), tmp_path / "out")


def test_an_unwritable_directory_is_reported_in_one_sentence(tmp_path: Path, keyed: Any) -> None:
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    with pytest.raises(VectorsError, match="cannot be written: Not a directory"):
        import_vectors(str(tmp_path / "v.bin"), tmp_path / "v.bin" / "out")


def test_a_few_words_truncated_inside_a_character_are_kept(tmp_path: Path) -> None:
    rows = {f"w{i}": [float(i)] for i in range(300)}
    (tmp_path / "v.bin").write_bytes(_binary(rows).replace(b"w7 ", b"\xe6\x97 "))
    embedding = import_vectors(str(tmp_path / "v.bin"), tmp_path / "out")
    assert embedding.words[7] == "\\xe6\\x97"
    assert embedding.vectors[7, 0] == 7
    assert json.loads((tmp_path / "out/embedding.json").read_text())["undecodable"] == 1


@pytest.mark.slow
def test_files_longer_than_the_buffers(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(30_000)]
    vectors = np.random.default_rng(0).standard_normal((30_000, 50)).astype(np.float32)
    keyed = KeyedVectors(50)
    keyed.add_vectors(words, vectors)
    reports: list[tuple[str, int, int | None, str]] = []
    for binary in (True, False):
        keyed.save_word2vec_format(str(tmp_path / "v"), binary=binary)
        _same(
            import_vectors(str(tmp_path / "v"), tmp_path / "out", progress=lambda *report: reports.append(report)),
            words,
            vectors,
        )
    assert len(reports) > 4
    assert reports[-1] == ("Importing vectors", 30_000, 30_000, "words")


def test_the_manifest_describes_the_source(tmp_path: Path, keyed: Any) -> None:
    path = tmp_path / "v.bin"
    keyed.save_word2vec_format(str(path), binary=True)
    embedding = import_vectors(str(path), tmp_path / "out", normalize=True)
    manifest = json.loads((tmp_path / "out/embedding.json").read_text())
    assert manifest["source"] == str(path)
    assert manifest["bytes"] == path.stat().st_size
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (manifest["format"], manifest["words"], manifest["dim"]) == ("word2vec binary", 5, 4)
    assert manifest["normalized"] is True
    assert manifest["fingerprint"] == embedding.fingerprint
    in_memory = Embedding.of(keyed.index_to_key, keyed.vectors, normalize=True)
    assert in_memory.fingerprint == embedding.fingerprint


def test_the_digest_is_that_of_the_gzip_file_on_disk(tmp_path: Path, keyed: Any) -> None:
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    path = tmp_path / "v.bin.gz"
    path.write_bytes(gzip.compress((tmp_path / "v.bin").read_bytes()) + b"\0" * 100)
    import_vectors(str(path), tmp_path / "out")
    manifest = json.loads((tmp_path / "out/embedding.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_interrupt_leaves_the_old_vectors(tmp_path: Path, keyed: Any) -> None:
    path = tmp_path / "v.bin"
    keyed.save_word2vec_format(str(path), binary=True)
    before = import_vectors(str(path), tmp_path / "out").fingerprint

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_vectors(str(path), tmp_path / "out", normalize=True, progress=interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "v.bin"]
    assert open_vectors(tmp_path / "out").fingerprint == before
    assert import_vectors(str(path), tmp_path / "out", normalize=True).fingerprint != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "v.bin"]


def test_the_old_vectors_are_restored_if_the_new_cannot_replace_them(
    tmp_path: Path, keyed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.bin"
    keyed.save_word2vec_format(str(path), binary=True)
    before = import_vectors(str(path), tmp_path / "out").fingerprint
    rename, renames = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        renames.append(target)
        if len(renames) == 2:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(VectorsError, match="cannot be written: Permission denied"):
        import_vectors(str(path), tmp_path / "out", normalize=True)
    assert open_vectors(tmp_path / "out").fingerprint == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "v.bin"]


def test_the_same_source_is_recognised(tmp_path: Path, keyed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "v.bin", tmp_path / "out"
    keyed.save_word2vec_format(str(path), binary=True)
    import_vectors(str(path), out)
    assert same_source(out, str(path))
    monkeypatch.chdir(tmp_path)
    assert same_source(out, "v.bin")
    os.utime(path, (1, 1))
    assert same_source(out, str(path))
    copy = tmp_path / "copy.bin"
    copy.write_bytes(path.read_bytes())
    assert same_source(out, str(copy))
    copy.write_bytes(path.read_bytes()[:-2] + b"\0\n")
    assert not same_source(out, str(copy))
    copy.write_bytes(b"shorter")
    assert not same_source(out, str(copy))
    assert not same_source(out, "gensim:glove-wiki-gigaword-50")
    path.unlink()
    assert same_source(out, str(path))
    with pytest.raises(VectorsError, match="cannot be read"):
        same_source(out, "other.bin")


@pytest.mark.slow
def test_the_real_vectors_are_those_that_gensim_reads(minilm: Path, tmp_path: Path) -> None:
    embedding = import_vectors(str(minilm), tmp_path / "out")
    keyed = KeyedVectors.load_word2vec_format(str(minilm), binary=True)
    _same(embedding, keyed.index_to_key, keyed.vectors)
