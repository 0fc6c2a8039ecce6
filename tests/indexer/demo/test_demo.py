import inspect
import textwrap
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank import Collection, Document, Settings
from moverank.indexer.demo import (
    DOCSTRING_QUERIES,
    DOCSTRING_TRAINING,
    THREAD_GAMMA,
    THREAD_QUERIES,
    THREAD_TRAINING,
    Example,
    docstring_documents,
    threads_path,
)
from moverank.indexer.readers import read_threads
from moverank.rerank.ranking import Hit
from moverank.rerank.words.tokenizer import Tokenizer, default_stop_words

TWINS = [
    ("lukewarm-radiators", "chilly-bedrooms"),
    ("boiler-pressure", "needle-red"),
    ("plug-hot", "outlet-smell"),
    ("chain-slips", "gears-skip"),
    ("flat-again", "soft-overnight"),
    ("battery-drains", "dead-by-lunch"),
    ("paper-jam", "crumpled-sheets"),
    ("pale-streaks", "washed-out"),
    ("wifi-drops", "video-stutters"),
    ("weak-attic", "far-room"),
    ("flat-bread", "heavy-buns"),
    ("yellow-tomatoes", "pale-foliage"),
    ("slugs-lettuce", "holes-hostas"),
    ("wont-start", "engine-silent"),
    ("steering-wobble", "motorway-vibration"),
    ("forgot-password", "shut-out"),
    ("odd-bank-mail", "fake-parcel"),
    ("wont-drain", "soaked-clothes"),
    ("tap-drips", "leaky-faucet"),
    ("blocked-sink", "slow-shower"),
    ("slow-laptop", "old-notebook"),
]
SOURCE = '''
"""A module about this and that."""
try:
    import fast
except ImportError:
    def helper(a, *, b: int = 1):
        """Help slowly, as a stand-in."""
        def inner():
            """Nobody can name this one."""
else:
    def helper():
        """Help a second time round."""

class Box(dict[str, int], metaclass=type):
    """
    Holds things
        in order.
    """

    async def open(self):
        r"""Open it \\d times, please."""

    class Lid:
        """The lid of a box."""

    def short(self):
        """Too short here."""

def count():
    """Count up to \\d or so."""
'''


@pytest.fixture(scope="module")
def stop_words() -> tuple[str, ...]:
    return tuple(sorted(default_stop_words()))


@pytest.fixture(scope="module")
def docstrings() -> list[Document]:
    documents = list(docstring_documents())
    if not documents:
        pytest.skip("this Python was installed without the sources of its library")
    return documents


@pytest.fixture(scope="module")
def threads() -> dict[str, Document]:
    documents = list(read_threads([str(threads_path())]))
    return {thread.key: thread for thread in documents if isinstance(thread, Document)}


@pytest.fixture(scope="module")
def docstring_collection(
    docstrings: list[Document], stop_words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    settings = Settings(embedding="lsi", train_options=DOCSTRING_TRAINING, stop_words=stop_words)
    with Collection.create(tmp_path_factory.mktemp("docstrings"), settings) as collection:
        collection.index(docstrings)
        yield collection


@pytest.fixture(scope="module")
def thread_collection(
    threads: dict[str, Document], stop_words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    settings = Settings(embedding="lsi", train_options=THREAD_TRAINING, stop_words=stop_words, gamma=THREAD_GAMMA)
    with Collection.create(tmp_path_factory.mktemp("threads"), settings) as collection:
        collection.index(threads.values())
        yield collection


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for folder in ("box/test", "box-1", "site-packages", "box/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "left_out.py").write_text('"""This is never looked at."""\n')
    (tmp_path / "box/__init__.py").write_text(SOURCE)
    (tmp_path / "box/side.py").write_text('# coding: latin-1\n"""A café beside the box."""\n', "latin-1")
    (tmp_path / "box/two words.py").write_text('"""No name to import it by."""\n')
    (tmp_path / "box/broken.py").write_text('"""A module that is broken."""\ndef\n')
    (tmp_path / "box/bytes.py").write_bytes(b'"""A module of \xff bytes."""\n')
    (tmp_path / "box/coded.py").write_text('# coding: klingon\n"""In a code unheard of."""\n')
    (tmp_path / "box/zero.py").write_bytes(b'"""A module with a zero."""\n\0\n')
    return tmp_path


def words_of(thread: Document, parts: int | None = None) -> set[str]:
    tokenizer = Tokenizer(default_stop_words())
    return {word for part in thread.parts[:parts] for word in tokenizer.words(part.text)}


def hits(collection: Collection, example: Example, k: int = 3) -> tuple[Hit, ...]:
    ask = collection.search if example.command == "search" else collection.similar
    return ask(example.text, k=k, gamma=example.gamma).hits


def test_docstrings_are_read_from_source_files(library: Path) -> None:
    found = [(d.key, d.title, d.parts[0].text, d.label, d.metadata["kind"]) for d in docstring_documents(library)]
    assert found == [
        ("box", "module box", "A module about this and that.", "box", "module"),
        ("box.helper", "helper(a, *, b: int=1)", "Help slowly, as a stand-in.", "box", "function"),
        ("box.Box", "class Box(dict[str, int])", "Holds things\n    in order.", "box", "class"),
        ("box.Box.open", "open(self)", "Open it \\d times, please.", "box", "method"),
        ("box.Box.Lid", "class Lid", "The lid of a box.", "box", "class"),
        ("box.count", "count()", "Count up to \\d or so.", "box", "function"),
        ("box.side", "module box.side", "A café beside the box.", "box", "module"),
    ]


def test_a_library_without_sources_has_no_documents(tmp_path: Path) -> None:
    (tmp_path / "python.zip").write_bytes(b"")
    assert list(docstring_documents(tmp_path)) == []
    assert list(docstring_documents(tmp_path / "python.zip")) == []
    assert list(docstring_documents(tmp_path / "absent")) == []


def test_the_standard_library_has_thousands_of_docstrings(docstrings: list[Document]) -> None:
    by_key = {document.key: document for document in docstrings}
    assert len(by_key) == len(docstrings) > 5000
    assert {document.metadata["kind"] for document in docstrings} == {"module", "class", "function", "method"}
    named: dict[str, object] = {
        "textwrap": textwrap,
        "textwrap.wrap": textwrap.wrap,
        "textwrap.TextWrapper": textwrap.TextWrapper,
        "textwrap.TextWrapper.fill": textwrap.TextWrapper.fill,
        "urllib.parse.urljoin": urllib.parse.urljoin,
    }
    for key, value in named.items():
        assert by_key[key].parts[0].text == inspect.cleandoc(value.__doc__ or "")
    assert by_key["urllib.parse.urljoin"].label == "urllib"
    assert not [key for key in by_key if key.startswith(("test.", "site_packages", "idlelib.idle_test"))]


def test_the_threads_are_read_without_a_rejection(threads: dict[str, Document]) -> None:
    assert len(list(read_threads([str(threads_path())]))) == len(threads) == 114
    for thread in threads.values():
        assert thread.title
        assert thread.label
        assert [part.rank for part in thread.parts] == list(range(len(thread.parts)))
        assert len(thread.parts) >= 3


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_twin_threads_have_other_words_and_are_found(
    one: str, other: str, threads: dict[str, Document], thread_collection: Collection
) -> None:
    assert not words_of(threads[one], 1) & words_of(threads[other], 1)  # titles and opening posts
    assert len(words_of(threads[one]) & words_of(threads[other])) <= 2
    for key, twin in ((one, other), (other, one)):
        assert twin in [hit.key for hit in thread_collection.similar(key, k=5).hits]


@pytest.mark.parametrize("example", THREAD_QUERIES)
def test_thread_queries_show_what_they_say(example: Example, thread_collection: Collection) -> None:
    assert set(example.expected) <= {hit.key for hit in hits(thread_collection, example)}


@pytest.mark.parametrize("example", DOCSTRING_QUERIES)
def test_docstring_queries_show_what_they_say(example: Example, docstring_collection: Collection) -> None:
    assert set(example.expected) <= {hit.key for hit in hits(docstring_collection, example)}


def test_the_best_hits_share_no_word_with_the_query(
    threads: dict[str, Document],
    thread_collection: Collection,
    docstrings: list[Document],
    docstring_collection: Collection,
) -> None:
    stored = {document.key: document for document in docstrings} | threads
    tokenizer = Tokenizer(default_stop_words())
    for collection, example in (
        (thread_collection, THREAD_QUERIES[0]),
        (docstring_collection, DOCSTRING_QUERIES[0]),
        (docstring_collection, DOCSTRING_QUERIES[2]),
    ):
        best = hits(collection, example)[0].key
        assert best in example.expected
        assert not words_of(stored[best]) & set(tokenizer.words(example.text))
    assert not words_of(threads["yellow-tomatoes"]) & words_of(threads["pale-foliage"])


def test_ranks_of_posts_decide_what_a_drifting_thread_is_about(
    threads: dict[str, Document], thread_collection: Collection
) -> None:
    plain, ranked = (hits(thread_collection, example) for example in THREAD_QUERIES[2:4])
    assert {threads[hit.key].label for hit in plain} == {"cooking"}
    assert {threads[hit.key].label for hit in ranked} == {"wiring"}
