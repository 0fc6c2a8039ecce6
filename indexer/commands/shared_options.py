"""Options that several commands share."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from moverank.indexer import reading
from moverank.indexer.commands.completion import complete_field, complete_rank
from moverank.indexer.commands.option_records import option_of, typed_option
from moverank.indexer.errors import UsageError
from moverank.indexer.values.search_options import FILTER, SearchOptions

if TYPE_CHECKING:
    from moverank.indexer.operations.operated import Operated

DEFAULT_INDEX = Path("moverank.index")
_VARIABLE = "MOVERANK_INDEX"

# ---- every command


def _directory(name: str) -> Path:
    """Return the directory of a collection, which may be in a database."""
    from moverank.indexer.files.location import collection_directory

    return collection_directory(name)


Index = Annotated[
    Path,
    typer.Option(
        "--index",
        "-i",
        envvar=_VARIABLE,
        metavar="DIR|URL",
        help="Directory of the collection, or postgresql://USER@HOST/DATABASE?schema=NAME.",
        show_default=True,
        parser=str,  # a Path would drop slashes of a URL
        callback=_directory,
    ),
]
Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "--index",
        metavar="[NAME=]DIR|URL",
        help="A collection; repeatable. [default: $MOVERANK_INDEX or ./moverank.index]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def named_places(typed: Sequence[str]) -> dict[str, Path]:
    """Return the directories of collections, by default one, by name; UsageError if a name is used twice."""
    from moverank.indexer.files.location import collection_directory, collection_name, is_url

    places: dict[str, Path] = {}
    for text in typed or [os.environ.get(_VARIABLE) or str(DEFAULT_INDEX)]:
        name, equals, path = text.partition("=")
        named = equals and not is_url(text)  # a URL may contain equals signs
        place = path if named else text
        directory = collection_directory(place)
        own = name if named else collection_name(directory)
        if not own or "/" in own:
            raise UsageError(f"{text!r}: the name of a collection must not be empty or have a slash")
        if own in places:
            raise UsageError(f"two collections are called {own!r}: name one of them, as in -i NAME={directory}")
        places[own] = directory
    return places


# ---- commands that read

QUERY_PANEL = "Query"
Server = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="MOVERANK_SERVER",
        help="Search by a running `moverank serve`, in its collection of this name; $MOVERANK_TOKEN is its token.",
        rich_help_panel=QUERY_PANEL,
    ),
]


@contextmanager
def opened(index: Path, server: str | None) -> "Iterator[Operated]":
    """Open a collection, or a server's collection of the same name."""
    if server:
        from moverank.indexer.files.location import collection_name
        from moverank.indexer.opening import STORES

        name = None if index == DEFAULT_INDEX else collection_name(index)
        yield STORES.of("server")(server, name, os.environ.get("MOVERANK_TOKEN"))
        return
    from moverank.indexer.opening import open_index

    with open_index(index) as collection:
        yield collection


WhereOption = Annotated[list[str] | None, typed_option(FILTER, complete=complete_field)]
Rank = Annotated[str | None, option_of(SearchOptions, "rank")]
Gamma = Annotated[float | None, option_of(SearchOptions, "gamma")]
TableFormat = Annotated[Literal["text", "csv"], typer.Option("--format", help="csv: a table with a header.")]
MarkupIn = Annotated[
    Literal["keep", "strip"] | None,
    typer.Option("--markup", help="Keep HTML in records as it is, or strip it. [default: strip what is HTML]"),
]

# ---- commands that write

Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        metavar="[SECONDS]",
        min=0,
        show_default=False,
        help="Wait while another process writes, at most SECONDS or without limit. [default: fail at once]",
    ),
]


def with_wait_limit(arguments: list[str]) -> list[str]:
    """Return the arguments with `inf` after each `--wait` without a number: Typer has no optional option values."""
    completed: list[str] = []
    for i, argument in enumerate(arguments):
        completed.append(argument)
        following = arguments[i + 1] if i + 1 < len(arguments) else ""
        if argument == "--wait" and not following.replace(".", "", 1).isdecimal():
            completed.append("inf")
    return completed


# ---- settings of a collection

_NAMED = "embedding", "language", "gamma", "rank", "first_stage"
"""Settings with an option of their own."""


def _options(value: str) -> tuple[str, ...]:
    return tuple(pair for pair in value.split(",") if pair)


def _switch(value: str) -> bool:
    if value not in ("yes", "no"):
        raise UsageError(f"normalize must be yes or no, not {value!r}")
    return value == "yes"


def _stop_words(value: str) -> str | tuple[str, ...]:
    from moverank.rerank.words.tokenizer import LISTS

    return value if value in LISTS else reading.read_words(value, "the stop words")


def _vocabulary(value: str) -> tuple[str, ...]:
    words = reading.read_words(value, "the words of the vocabulary")
    if not words:
        raise UsageError(f"{value} has no word: a vocabulary has one a line, the most frequent first")
    return words


def _phrases(value: str) -> tuple[str, ...]:
    from moverank.rerank.words.languages import NO_LANGUAGE
    from moverank.rerank.words.phrases import folded_phrase

    phrases = () if value == "none" else reading.read_words(value, "the phrases")
    for phrase in phrases:
        if folded_phrase(phrase, NO_LANGUAGE) is None:
            raise UsageError(f"{value}: {phrase!r} is no phrase: one is 2 to 8 words joined by `_`, such as new_york")
    return phrases


SETTINGS: dict[str, Callable[[str], Any]] = {
    "train_options": _options,
    "normalize": _switch,
    "segmentation": str,
    "vocabulary": _vocabulary,
    "phrases": _phrases,
    "stop_words": _stop_words,
    "title_weight": lambda value: int(value) if value.isascii() and value.isdecimal() else value,
    "weights": str,
    "first_stage_options": _options,
    "faiss": str,
}
"""The settings of `--setting NAME=VALUE`, named as in `Settings`, and the parsers of their values."""


def _complete_setting(incomplete: str) -> list[str]:
    """Return the names of settings that begin as typed, each followed by an equals sign."""
    return [f"{name}=" for name in SETTINGS if name.startswith(incomplete)]


Setting = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Another setting, such as title_weight=2; repeatable, `moverank help settings` lists them.",
        autocompletion=_complete_setting,
    ),
]
TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load gensim's .kv and .model files: pickles, which can run arbitrary code."),
]


def chosen_settings(given: Iterable[str] | None, names: Collection[str] = SETTINGS) -> dict[str, Any]:
    """Return the settings that texts such as `title_weight=2` choose; UsageError for others than `names`.

    The options of a repeated name add up; of other repeated names, the last value wins.
    """
    from moverank.rerank.options import did_you_mean

    chosen: dict[str, Any] = {}
    for text in given or ():
        typed, equals, value = (part.strip() for part in text.partition("="))
        name = typed.replace("-", "_")
        if name in _NAMED:
            raise UsageError(f"--setting {text!r}: write --{name.replace('_', '-')} {value}")
        if not equals or name not in names:
            similar = "" if name in names else did_you_mean(name, names)
            raise UsageError(f"--setting {text!r}{similar}: write NAME=VALUE with {', '.join(names)}")
        read = SETTINGS[name](value)
        chosen[name] = (*chosen.get(name, ()), *read) if SETTINGS[name] is _options else read
    return chosen


@dataclass(frozen=True, slots=True)
class SettingChoices:
    """The settings of a collection, as `index`, `threads` and `shards create` take them."""

    PANEL: ClassVar = "Settings of the collection"

    embedding: Annotated[
        str | None,
        typer.Option(
            metavar="PATH|gensim:NAME|hf:NAME|train|lsi",
            help="Word vectors: a word2vec, GloVe or fastText file, the directory of a static embedding model, a model "
            "of gensim's downloader or of the Hugging Face Hub, or trained on the texts (train: word2vec; lsi). "
            "[default: trained]",
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Language of the texts, such as de, none, or auto (found from the texts): stop words and stems; see "
            "`moverank help languages`. "
            "[default: en]",
        ),
    ] = None
    gamma: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Sensitivity to rank of the collection's searches: 0 ignores ranks. "
            "[default: in a new collection 0, or 0.75 for threads]",
        ),
    ] = None
    first_stage: Annotated[
        str | None,
        typer.Option(
            metavar="centroid|fisher|lsi|lda|msda|ccg|given|NAME[+SCORER]",
            help="Document vectors of the first stage: an encoder, perhaps one of your own, or given with the "
            "documents; fisher+bm25 adds the best candidates of BM25. [default: centroid]",
        ),
    ] = None
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="The collection's ranking, by which it is searched without --rank; see `moverank help ranking`.",
            autocompletion=complete_rank,
        ),
    ] = None
    setting: Setting = None
    trust_pickle: TrustPickle = False

    def chosen(self, names: Collection[str] = SETTINGS) -> dict[str, Any]:
        """Return the settings that are given, by name; names in `--setting` must be among `names`."""
        chosen = chosen_settings(self.setting, names)
        chosen |= {name: value for name in _NAMED if (value := getattr(self, name)) is not None}
        if self.first_stage is not None:
            chosen.setdefault("first_stage_options", ())  # they belong to an encoder: a new one discards the old
        return chosen
