"""The fields of a hit: what it shows of its document, and its extract."""

from hypothesis import example, given
from hypothesis import strategies as st

from moverank import Collection
from moverank.indexer.search.hits import snippet, with_parts
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.world import document

TOKENIZER = Tokenizer()
_WORD = st.text("abcdeé-", min_size=1, max_size=9)
_TEXT = st.lists(_WORD, max_size=60).map(" ".join)


def test_a_hit_has_title_label_and_snippet(collection: Collection) -> None:
    collection.index([document("a", "of ant", "zorp bee", title="A title", label="red"), document("b", "ant")])
    hits = {hit.key: hit for hit in collection.search("bee").hits}
    assert (hits["a"].title, hits["a"].label, hits["a"].snippet) == ("A title", "red", "of ant zorp bee")
    assert (hits["b"].title, hits["b"].label) == ("", None)


def test_a_hit_without_a_bag_has_no_flows(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("zorp", "zorp")])
    hits = {hit.key: hit for hit in collection.search("ant zorp", rank="wmd+bm25", explained=True).hits}
    assert hits["a"].flows
    assert hits["zorp"].flows == ()


def test_a_hit_has_its_whole_text_on_request(collection: Collection) -> None:
    collection.index([document("a", "ant\nbee", "zorp " * 99, title="A title"), document("zorp", "zorp")])
    for ranking in (
        collection.search("bee", full=True),
        collection.similar("zorp", full=True, rank="bm25"),
        next(iter(collection.search_many(["bee"], full=True))),
        collection.rerank("bee", ["a", "gone"], full=True),
        next(iter(collection.rerank_many(["bee"], [["gone", "a"]], full=True))),
    ):
        texts = {hit.key: hit.text for hit in ranking.hits}
        assert texts["a"] == "ant\nbee\n\n" + "zorp " * 99
        assert texts.get("gone") is None
    assert [hit.text for hit in collection.search("bee").hits] == [None]


@given(st.lists(_TEXT, max_size=3), st.lists(_WORD, max_size=3), st.integers(10, 40))
def test_a_snippet_is_a_run_of_words_within_the_length(texts: list[str], about: list[str], length: int) -> None:
    extract, words = snippet(texts, "", with_parts(about), TOKENIZER, length), "\n".join(texts).split()
    shown = extract.removeprefix("… ").removesuffix(" …").split()
    assert len(" ".join(shown)) <= length
    runs = [words[start : start + len(shown)] for start in range(len(words) - len(shown) + 1)]
    assert shown in runs
    assert extract.startswith("… ") or shown == words[: len(shown)]
    assert extract.endswith(" …") or shown == words[len(words) - len(shown) :]
    assert ("…" in extract) == (len(shown) < len(words))


@example("a - aaaa aaaaa aaaaaaaa aaaaaaaaa a a", ["a"])
@given(_TEXT, st.lists(_WORD, min_size=1, max_size=3))
def test_a_snippet_contains_a_query_word_if_the_text_does(text: str, about: list[str]) -> None:
    queried = {word for piece in about for word in TOKENIZER.words(piece)}
    present = queried.intersection(TOKENIZER.words(text))
    assert not present or queried.intersection(TOKENIZER.words(snippet([text], "", with_parts(queried), TOKENIZER, 30)))


def test_the_run_with_most_query_words_is_shown() -> None:
    text = "one two three four five Six seven. eight nine six ten seven eleven " + "tail " * 9
    extract = snippet([text], "", with_parts(["six", "seven"]), TOKENIZER, 34)
    assert "Six seven. eight nine six" in extract
    assert (extract[:2], extract[-2:]) == ("… ", " …")
    assert snippet([text], "", frozenset(), TOKENIZER, 18) == "one two three four …"
    assert snippet([text], "", frozenset({"tail"}), TOKENIZER, 9)[:6] == "… tail"


def test_white_space_is_one_space() -> None:
    assert snippet(["a\n\n b", "c"], "", frozenset(), TOKENIZER) == "a b c"


def test_the_title_is_not_repeated() -> None:
    assert snippet(["A Title\nand what follows"], "a title", frozenset(), TOKENIZER) == "and what follows"
    assert snippet(["A Title"], "A Title", frozenset(), TOKENIZER) == ""
    assert snippet(["Before: A Title"], "A Title", frozenset(), TOKENIZER) == "Before: A Title"


def test_a_word_with_the_title_as_prefix_is_not_cut() -> None:
    assert snippet(["Windows crash"], "Win", frozenset(), TOKENIZER) == "Windows crash"


def test_without_text_the_snippet_is_empty() -> None:
    assert snippet([], "Title", frozenset({"a"}), TOKENIZER) == ""
    assert snippet([" \n", ""], "", frozenset({"a"}), TOKENIZER) == ""


def test_a_word_longer_than_the_snippet_is_cut_with_an_ellipsis() -> None:
    assert snippet(["x" * 50 + " y"], "", frozenset(), TOKENIZER, 10) == "x" * 10 + " …"
    assert snippet(["x" * 50], "", frozenset(), TOKENIZER, 10) == "x" * 10 + " …"


def test_words_are_found_as_the_collection_splits_them() -> None:
    text = "one two three ISPARTA five"
    assert snippet([text], "", frozenset({"\u0131sparta"}), Tokenizer(language="tr"), 12) == "… ISPARTA five"
    assert snippet([text], "", frozenset({"\u0131sparta"}), TOKENIZER, 12) == "one two …"


def test_texts_without_spaces_are_cut_between_words() -> None:
    text = "我们在北京大学学习自然语言处理。他们在上海喝咖啡、天气很好。"
    chinese = Tokenizer(language="zh", segmentation="icu")
    assert snippet([text], "", frozenset({"咖啡"}), chinese, 12) == "… 处理。他们在上海喝咖啡、 …"
    assert snippet([text], "", frozenset({"北京"}), chinese, 6) == "我们在北京 …"
    assert snippet([text], "", frozenset(), chinese, 99) == text
    assert snippet(["我们 在 北京"], "", frozenset(), chinese) == "我们 在 北京"
