"""Word vectors that follow the texts: what `index`, `refit` and `info` do and report."""

import json
import pickle
import re
from pathlib import Path
from shlex import quote

import pytest

from moverank.indexer.files.location import display_name
from tests.indexer.commands.program import WORDS, Call

_TOPICS = {
    "quantum": "quantum computers use qubits and entanglement for quantum algorithms on noisy hardware",
    "fox": "the red fox hunts mice in the forest at night and sleeps in its den",
    "bread": "bread dough rises in a warm kitchen before it is baked with yeast and flour",
    "train": "the late train left the station without its last carriage and the conductor",
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Three files with a handful of words."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    for name, text in (("a", "the red fox"), ("b", "a late train"), ("c", "warm bread")):
        (folder / f"{name}.txt").write_text(text)
    return folder


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Five hundred documents about four topics; each has words of its own."""
    file = tmp_path / "many.jsonl"
    topics = list(_TOPICS.values())
    records = ({"id": f"d{i}", "text": f"{topics[i % 4]} number{i}"} for i in range(500))
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return file


@pytest.mark.slow
def test_vectors_of_the_first_texts_do_not_stay(call: Call, tiny: Path, many: Path, tmp_path: Path) -> None:
    """Three tiny files come first, and decide by which words five hundred later texts are found."""
    path = tmp_path / "c"
    first = call("index", tiny, "-i", path)
    assert "3 texts are too few to learn word vectors from: they are ranked by bm25" in first.sentence
    answer = call("search", "foxes", "-i", path, "--json").json
    assert answer["ranking"] == "bm25:k1=1.6,stem=english"
    assert [Path(hit["key"]).name for hit in answer["hits"]] == ["a.txt"]
    assert call("info", "-i", path, "--json").json["ranking"] == answer["ranking"]
    later = call("index", many, "-i", path)
    assert later.code == 0
    assert "the texts have changed much, so the word vectors were trained on them again by lsi (" in later.sentence
    assert " words instead of 6, " in later.sentence
    assert "; 100 % of all words have a vector learned from these texts)" in later.out
    for rank in ("wmd", "auto"):
        options = () if rank == "auto" else ("--rank", rank)
        hits = call("search", "red quantum computers", "-i", path, "-k", "3", "--json", *options).json["hits"]
        assert all("qubits" in hit["snippet"] for hit in hits)
        assert all(hit["distance"] > 0 for hit in hits)
    info = call("info", "-i", path, "--json").json
    assert (info["coverage"], info["known_words"] == info["words"]) == (1.0, True)
    again = call("index", many, "-i", path, "--json")
    assert (again.err, again.json["trained_seconds"], again.json["coverage"]) == ("", None, 1.0)


@pytest.mark.parametrize(("texts", "noted"), [(99, True), (100, False)])
def test_few_texts_are_reported_as_few(call: Call, many: Path, tmp_path: Path, texts: int, noted: bool) -> None:
    path = tmp_path / "c"
    many.write_text("".join(many.read_text().splitlines(keepends=True)[:texts]))
    answer = call("index", many, "-i", path)
    few = (
        f"{texts} texts are few to learn word vectors from: below 100, those of a file rank better; "
        f"`moverank refit -i {quote(display_name(path))} --embedding FILE` takes word vectors that fit these texts"
    )
    assert "so they were trained on these texts by lsi" in answer.err
    assert (few in " ".join(answer.err.split())) == noted


def test_vectors_of_a_file_stay_and_the_remedy_is_named(call: Call, vectors: Path, many: Path, tmp_path: Path) -> None:
    path, fitting = tmp_path / "c", tmp_path / "fitting.txt"
    answer = call("index", many, "-i", path, "--embedding", vectors, "--json")
    assert answer.json["trained_seconds"] is None
    assert answer.json["coverage"] < 0.5
    assert answer.sentence.startswith("only ")
    assert (
        f"`moverank refit -i {quote(display_name(path))} --embedding FILE` takes word vectors that fit these texts"
        in answer.sentence
    )
    words = sorted({word for text in _TOPICS.values() for word in text.split()})
    fitting.write_text("".join(f"{word} {i % 7} {i % 11} {i % 3}\n" for i, word in enumerate(words)))
    answer = call("refit", "-i", path, "--embedding", fitting)
    first, second = answer.out.splitlines()
    assert (answer.code, answer.err) == (0, "")
    begin, end = first.split("; ")
    assert begin == f"word vectors of {fitting}: {len(words)} words, 3 dimensions"
    assert re.fullmatch(r"8\d(\.\d)? % of all words have a vector", end)
    assert second.startswith("centroid fitted to 500 documents (")
    assert call("index", many, "-i", path, "--embedding", fitting).err == ""


def test_vectors_are_trained_again_on_demand(call: Call, tiny: Path, collection: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    call("index", tiny, "-i", path)
    (tiny / "d.txt").write_text("cold")
    assert call("index", tiny, "-i", path, "--json").json["coverage"] == pytest.approx(6 / 7)
    answer = call("refit", "--vectors", "-i", path, "--json")
    assert (answer.code, answer.err, answer.json["coverage"]) == (0, "", 1.0)
    wrong = call("refit", "--vectors", "-i", collection)
    assert wrong.code == 2
    assert "not trained on the texts: name others (--embedding FILE)" in wrong.sentence


def test_index_names_the_command_that_replaces_vectors(call: Call, collection: Path, documents: Path) -> None:
    answer = call("index", documents, "-i", collection, "--embedding", "lsi")
    assert answer.code == 2
    assert "`moverank refit --embedding lsi`" in answer.sentence


def test_a_pickle_is_loaded_only_if_it_is_trusted(call: Call, collection: Path, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    kv = gensim.KeyedVectors(2)
    kv.add_vectors(WORDS, [[float(i), 1.0] for i in range(len(WORDS))])
    file = tmp_path / "own.kv"
    kv.save(str(file))
    assert pickle.loads(file.read_bytes()).vector_size == 2  # noqa: S301 - written above
    answer = call("refit", "-i", collection, "--embedding", file)
    assert (answer.code, "--trust-pickle" in answer.sentence) == (1, True)
    assert call("info", "-i", collection, "--json").json["dim"] == 4
    answer = call("refit", "-i", collection, "--embedding", file, "--trust-pickle", "--json")
    assert (answer.code, answer.json["dim"]) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--embedding", "nowhere.txt"], 1, "nowhere.txt cannot be read: No such file"),
        (["--setting", "train_options=dim=3"], 2, "options of word vectors need --vectors or --embedding"),
        (["--setting", "normalize=yes"], 2, "options of word vectors need --vectors or --embedding"),
        (["--embedding", "lsi", "--setting", "train_options=dimm=3"], 2, "'dimm=3' is no option of lsi training"),
        (
            ["--embedding", "lsi", "--setting", "train_options=min_count=999"],
            1,
            "no word occurs 999 times in the corpus",
        ),
    ],
)
def test_a_refit_that_cannot_be_done_changes_nothing(
    call: Call, collection: Path, arguments: list[str], code: int, message: str
) -> None:
    before = call("search", "cat", "-i", collection, "--json").json["hits"]
    answer = call("refit", "-i", collection, *arguments)
    assert answer.code == code
    assert message in answer.sentence
    assert call("search", "cat", "-i", collection, "--json").json["hits"] == before


@pytest.mark.slow
def test_cached_distances_are_not_those_of_earlier_vectors(
    call: Call, collection: Path, documents: Path, tmp_path: Path
) -> None:
    """Of mutual proximity, of the translation model, and of `evaluate`."""
    judgments, fresh = tmp_path / "qrels.tsv", tmp_path / "fresh"
    judgments.write_text("".join(f"d{i}\t0\td{(i + 3) % 10}\t1\n" for i in range(4)))
    other = tmp_path / "other.txt"
    other.write_text("".join(f"{word} {i % 7} {-i} {i % 4}\n" for i, word in enumerate(WORDS)))

    def answers(path: Path) -> list[object]:
        methods = ("--method", "wmd", "--method", "wcd", "--method", "translation")
        table = call("evaluate", "retrieval", "-i", path, "--qrels", judgments, *methods, "--json").json["rows"]
        hits = [
            [(hit["key"], round(hit["total"], 9)) for hit in call(*search, "--rank", rank, "--json").json["hits"]]
            for rank in ("wmd:proximity=empirical", "wmd+translation")
            for search in [("search", "cat river", "-i", path)]
        ]
        return [table, hits]

    assert call("index", documents, "-i", fresh, "--embedding", other).code == 0
    before = answers(collection)
    assert call("refit", "-i", collection, "--embedding", other).code == 0
    assert before != answers(fresh) == answers(collection)


@pytest.fixture
def german(tmp_path: Path) -> tuple[Path, Path]:
    """German texts, and vectors with capitals."""
    texts, vectors = tmp_path / "texts.jsonl", tmp_path / "cased.txt"
    texts.write_text(
        '{"id": "1", "text": "Der Hund und die Katze am Fluss"}\n{"id": "2", "text": "Die Katze im Haus"}\n'
    )
    vectors.write_text("4 2\nHund 1 0\nKatze 1 1\nim 0 1\nund 0 2\n")
    return texts, vectors


def test_the_cause_of_words_that_do_not_match_is_named(call: Call, german: tuple[Path, Path], tmp_path: Path) -> None:
    vectors = german[1]
    partly = tmp_path / "partly.jsonl"
    partly.write_text('{"id": "1", "text": "im im vogel"}\n{"id": "2", "text": "im im fisch"}\n')
    cautious = "--rank 'wmd:mu=20,weights=tfidf+2*cover+6*bm25:stem=english+cosine' relies on words more"
    assert cautious in call("index", partly, "-i", tmp_path / "partly", "--embedding", vectors).err
    chinese = tmp_path / "chinese.txt"
    chinese.write_text("\u6211\u4eec\u53bb\u5317\u4eac\u770b\u957f\u57ce\u3002 ok")
    found = call("index", chinese, "-i", tmp_path / "chinese", "--embedding", vectors)
    assert "80 % of the letters are of a script without spaces between words" in found.err
