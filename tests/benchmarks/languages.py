"""Mean reciprocal rank (MRR) of BM25 on XQuAD, the same paragraphs in twelve languages, by how texts are split.

Every second question serves to choose a way, the others to check it. BM25 has the k1 of the default ranking, 1.6.
Ways of Chinese and Thai, which split the runs of `segmentation.runs`:

- words: the first version of the tokenizer, which makes one word of a run.
- ICU: words by ICU's dictionary.
- parts: the best path over a vocabulary of the texts themselves, `frequent_parts`.
- FILE: the best path over a vocabulary given by --vocabulary.
- characters: the best path over no vocabulary, as where the vectors are those of another language.
- pairs: no words, but the overlapping pairs of characters or clusters of each run, across words. "+ pairs": both.

Ways of the other languages: words, Snowball's stems, and letters, the sequences of four letters of each word.

Ways of all languages, with stop words and stems: before, the first version of the tokenizer as in English, and own, the
setting `language`. The last, default, is the default ranking of a collection with that setting, whose vectors are
learned from the paragraphs (LSI); the first 100 hits of a query count. Default without ICU is the same with
segmentation=vocabulary, whose words are those of the paragraphs.

| | ar | de | el | en | es | hi | ro | ru | th | tr | vi | zh |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| before | .855 | .896 | .904 | .945 | .937 | .931 | .895 | .853 | .238 | .867 | .940 | .108 |
| own | .917 | .916 | .933 | .945 | .938 | .940 | .945 | .935 | .955 | .918 | .936 | .936 |
| default | .937 | .942 | .937 | .957 | .947 | .940 | .961 | .949 | .957 | .935 | .936 | .941 |
| default without ICU | | | | | | | | | .954 | | | .942 |

| | words | ICU | ICU + pairs | parts | parts + pairs | characters | characters + pairs | pairs |
|---|---|---|---|---|---|---|---|---|
| zh | .108 | .936 | .948 | .945 | .950 | .936 | .950 | .937 |
| th | .238 | .955 | .957 | .951 | .956 | .826 | .944 | .947 |

The default ranking with BM25 of stems and of sequences of n letters (n = 4) by these weights, 2 and 0 being the default
of other languages; means of ar, de, el, es, hi, ro, ru and tr, estimated with RWMD in the place of WMD, and the
smallest gain of a language:

| stems, letters | 2, 0 | 0, 2 | 1.5, .5 | 1, 1 | 1.5, 1 | 2, 1 | 1, 2 | 2, 2 | 3, 3 | 1, 2 (n = 5) | 0, 2 (n = 3) |
|---|---|---|---|---|---|---|---|---|---|---|---|
| choose | .928 | .940 | .936 | .940 | .940 | .940 | .944 | .943 | .943 | .941 | .942 |
| check | .937 | .939 | .943 | .946 | .948 | .948 | .944 | .948 | .948 | .942 | .940 |
| least | | -.005 | .003 | .005 | .005 | .008 | .002 | .005 | .007 | .002 | .002 |

The best on the questions that choose, 1 and 2 with n = 4, is the default of these languages; English has .957 without
letters and .949 with them. Chinese and Vietnamese words are too short to have any.

Words and pairs together reach .945 in Chinese and .955 in Thai, by ICU and without it. On the questions that choose,
they are the best way in both (zh parts + pairs .944, th ICU + pairs .968); on the others these have .956 and .946,
ICU's words alone .947 and .948. Which dictionary matters little: 300,000 words of wordfreq have .945 with pairs (zh),
100,000 of the Thai National Corpus .955, the first 10,000 of each .948 and .955. Tried and worse: pairs only within
words (ICU: zh .938, th .955; parts: .932, .936), pairs of code points instead of clusters in Thai (ICU: .943), and
sequences of three clusters (zh .858, th .953). Whether unknown clusters side by side are joined changes .002 at most.

A vocabulary of the paragraphs needs few words: of the most frequent 500, 1,000, 2,000 and 5,000 parts, the figures are
.938, .948, .947 and .947 (zh; 1,480 occur ten times), .911, .932, .948 and .948 (th; all 6,063 have .951). It needs
few texts, if parts that occur three times are words in short ones: by the first 5, 10, 20 and 40 paragraphs .899, .923,
.928 and .952 (th; with ten times .839, .870, .898 and .920), .935, .940, .938 and .944 (zh). In all 240, three times is
too few: .928 and .924.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, Part
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.indexer.values.settings import DEFAULT_K1, Settings
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.evaluation.measures import Judgments, join_run, reciprocal_rank
from moverank.rerank.testing.sample_counts import Counted
from moverank.rerank.words.languages import language_of
from moverank.rerank.words.segmentation import (
    VOCABULARY,
    IcuSegmenter,
    Segmenter,
    VocabularySegmenter,
    clusters,
    frequent_parts,
    runs,
)
from moverank.rerank.words.tokenizer import Tokenizer, stem_words
from tests.benchmarks.common import argument_parser, gzip_records, real, show_table
from tests.benchmarks.retrieval_sets import Rankings, order

WITHOUT_SPACES = "th", "zh"
LANGUAGES = "ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"
LETTERS = 4
CUTOFF = 100
HEADS = ("language", "way", "all", "choose", "check")

Way = Callable[[str], list[str]]
"""Returns the terms of a text."""

tokens = Tokenizer().words


def bigrams(run: str) -> list[str]:
    """Return the overlapping pairs of clusters of a run; none for one cluster."""
    return [first + second for first, second in pairwise(clusters(run))]


def of_runs(segmenter: Segmenter | None, *, pairs: bool) -> Way:
    """Return a way that splits the runs of each word, and adds their pairs."""

    def terms(text: str) -> list[str]:
        found: list[str] = []
        for word in tokens(text):
            found += [rest for rest in runs().split(word) if rest]
            for run in runs().findall(word):
                found += segmenter.split(run) if segmenter else []
                found += bigrams(run) if pairs else []
        return found

    return terms


def letters(text: str) -> list[str]:
    """Return the sequences of four letters of each word; a shorter word is one."""
    return [word[i : i + LETTERS] for word in tokens(text) for i in range(max(1, len(word) - LETTERS + 1))]


def ways_without_spaces(language: str, texts: Sequence[str], vocabularies: Mapping[str, Path]) -> dict[str, Way]:
    """Return the ways of a language whose words have no spaces between them."""
    segmenters: dict[str, Segmenter] = {
        "ICU": IcuSegmenter(language),
        "parts": VocabularySegmenter(frequent_parts(text.lower() for text in texts)),
        "characters": VocabularySegmenter([]),
    }
    if language in vocabularies:
        words = vocabularies[language].read_text("utf-8").split()
        segmenters[vocabularies[language].name] = VocabularySegmenter(words)
    ways: dict[str, Way] = {"words": tokens}
    for name, segmenter in segmenters.items():
        ways |= {name: of_runs(segmenter, pairs=False), f"{name} + pairs": of_runs(segmenter, pairs=True)}
    return ways | {"pairs": of_runs(None, pairs=True)}


def ways_with_spaces(language: str) -> dict[str, Way]:
    """Return the ways of another language."""
    ways: dict[str, Way] = {"words": tokens, "letters": letters}
    if stemmer := language_of(language).stemmer:
        ways["stems"] = lambda text: stem_words(tokens(text), stemmer)
    return ways


def of_settings(settings: Settings) -> Way:
    """Return the way of a collection, with the stems of its default ranking."""
    tokenizer, stem = settings.tokenizer, settings.stem
    return lambda text: stem_words(tokenizer.words(text), stem) if stem else tokenizer.words(text)


def rankings_of(keys: Sequence[str], texts: Sequence[str], queries: Mapping[str, str], way: Way) -> Rankings:
    """Return the documents that share a term with each query, best first."""
    segment = Counted([Counter(way(text)) for text in texts], {}).segment()
    scorer = segment.fit("bm25", {"k1": str(DEFAULT_K1)})
    rankings = {}
    for query, text in queries.items():
        scores = scorer.score(segment.query(Counter(way(text))))
        rankings[query] = [keys[i] for i in order(scores, ascending=False) if scores[i] > 0]
    return rankings


def default_rankings(documents: Mapping[str, str], queries: Mapping[str, str], settings: Settings) -> Rankings:
    """Return the first documents of each query by the default ranking of a collection with these settings."""
    with TemporaryDirectory() as directory, Collection.create(Path(directory) / "texts", settings) as collection:
        collection.index([Document(key, "", (Part(text),)) for key, text in documents.items()])
        return {query: first_keys(collection, text) for query, text in queries.items()}


def first_keys(collection: Collection, text: str, *, spelling: bool = True) -> list[str]:
    """Return the keys of the first hits, none of a query without a word in the texts."""
    try:
        return [hit.key for hit in collection.search(text, k=CUTOFF, exact=True, spelling=spelling).hits]
    except NoKnownWords:
        return []


def main() -> None:
    """Print the figures of each language and way."""
    parser = argument_parser(__doc__)
    parser.add_argument("languages", nargs="*", default=LANGUAGES, metavar="LANGUAGE", help="all by default")
    parser.add_argument(
        "--vocabulary", action="append", default=[], metavar="LANGUAGE=FILE", help="words, the most frequent first"
    )
    parser.add_argument("--way", action="append", help="only this way; repeatable")
    options = parser.parse_args()
    vocabularies = {name: Path(path) for name, _, path in (value.partition("=") for value in options.vocabulary)}
    rows = []
    for language in options.languages:
        folder = real("data", "xquad", language)
        documents = {record["id"]: record["text"] for record in gzip_records(folder / "docs.jsonl.gz")}
        lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
        queries = {record["id"]: record["text"] for record in map(json.loads, lines)}
        judgments = Judgments(read_qrels(str(folder / "qrels.tsv")))
        texts = list(documents.values())
        without_spaces = language in WITHOUT_SPACES
        ways = ways_without_spaces(language, texts, vocabularies) if without_spaces else ways_with_spaces(language)
        ways |= {
            "own": of_settings(Settings(language=language)),
        }
        found = {name: partial(rankings_of, list(documents), texts, queries, way) for name, way in ways.items()}
        found["default"] = partial(default_rankings, documents, queries, Settings(language=language))
        if without_spaces:
            own = Settings(language=language, segmentation=VOCABULARY)
            found["default without ICU"] = partial(default_rankings, documents, queries, own)
        for name, ranked in found.items():
            if options.way and name not in options.way:
                continue
            joined = join_run(judgments, ranked())
            values = [reciprocal_rank(joined[query]) for query in queries]
            figures = [sum(part) / len(part) for part in (values, values[::2], values[1::2])]
            rows.append([language, name, *(f"{figure:.4f}" for figure in figures)])
    show_table(HEADS, rows)


if __name__ == "__main__":
    main()
