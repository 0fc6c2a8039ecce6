"""Commands that add documents: `index` and `threads`."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moverank.indexer.commands.failures import FAILED, NOTHING_CHANGED, interruptible
from moverank.indexer.commands.shared_options import (
    DEFAULT_INDEX,
    CollectionGamma,
    DryRun,
    Embedding,
    Encoding,
    Exclude,
    Faiss,
    FirstStage,
    FirstStageIn,
    FirstStageOption,
    Format,
    Include,
    Index,
    Json,
    KeyField,
    Keys,
    LabelField,
    MarkupIn,
    NoIgnore,
    Normalize,
    OwnRank,
    Paths,
    Pre,
    Prefix,
    PreGlob,
    PreTimeout,
    Prune,
    Replaces,
    SetFields,
    StopWords,
    Strict,
    TextField,
    TitleField,
    TitleWeight,
    TrainOption,
    TrustPickle,
    Vectors,
    Wait,
    Weights,
    Yes,
)
from moverank.indexer.options import CONVERSION_SECONDS

if TYPE_CHECKING:
    from moverank.indexer.commands.update import RunSources
    from moverank.indexer.readers.reading_process import Read
    from moverank.indexer.readers.vectors_by_key import VectorsByKey

app = typer.Typer()


@app.command(
    epilog="Examples: `moverank index notes/`  `moverank index docs.jsonl.gz -i news --embedding glove.txt.gz`"
)
def index(
    paths: Paths,
    index: Index = DEFAULT_INDEX,
    format: Format = None,  # noqa: A002 - the option's name
    key_field: KeyField = None,
    title_field: TitleField = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    include: Include = None,
    exclude: Exclude = None,
    no_ignore: NoIgnore = False,
    encoding: Encoding = None,
    markup: MarkupIn = None,
    pre: Pre = None,
    pre_glob: PreGlob = None,
    pre_timeout: PreTimeout = CONVERSION_SECONDS,
    embedding: Embedding = None,
    train_option: TrainOption = None,
    normalize: Normalize = None,
    weights: Weights = None,
    gamma: CollectionGamma = None,
    first_stage: FirstStage = None,
    first_stage_option: FirstStageOption = None,
    first_stage_in: FirstStageIn = None,
    vectors: Vectors = None,
    keys: Keys = None,
    faiss: Faiss = None,
    stop_words: StopWords = None,
    title_weight: TitleWeight = None,
    rank: OwnRank = None,
    trust_pickle: TrustPickle = False,
    prefix: Prefix = None,
    set_fields: SetFields = None,
    replaces: Replaces = None,
    prune: Prune = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    strict: Strict = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add or update documents: text, Markdown, HTML, notebooks, JSON, CSV/TSV, mbox, Maildir; .gz too."""
    from moverank.indexer.commands.update import RunSources
    from moverank.indexer.readers import Conversion, Fields, Selection, read_documents
    from moverank.indexer.readers.origins import chosen_metadata

    encoder = (first_stage, first_stage_option, first_stage_in)
    words = (stop_words, title_weight)
    choices = settings_chosen(embedding, train_option, normalize, weights, gamma, encoder, faiss, words, rank)
    fields = Fields(key_field, title_field, text_field, label_field)
    selection = Selection(tuple(include or ()), tuple(exclude or ()), not no_ignore)
    conversion = Conversion(pre or "", tuple(pre_glob or ()), pre_timeout) if pre is not None or pre_glob else None
    read = partial(
        read_documents,
        paths,
        fields=fields,
        format=format,
        selection=selection,
        encoding=encoding,
        conversion=conversion,
        markup=markup,
    )
    more = chosen_metadata(set_fields or ())
    sources = RunSources(paths, prefix, replaces, prune=prune, confirmed=yes, dry_run=dry_run, metadata=more)
    how: dict[str, Any] = {"trust_pickle": trust_pickle, "strict": strict, "wait": wait}
    _run(read, sources, index, choices, {}, vectors=_vectors(vectors, keys), as_json=as_json, **how)


@app.command(epilog="Examples: `moverank threads Posts.xml -i forum`  `moverank threads threads.jsonl.gz --gamma 0.5`")
def threads(  # over 40 lines: most of them are its options
    paths: Paths,
    index: Index = DEFAULT_INDEX,
    format: Format = None,  # noqa: A002 - the option's name
    key_field: KeyField = None,
    title_field: TitleField = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    comments_field: Annotated[
        str | None, typer.Option(metavar="NAME", help="Field of the list of posts after the first.")
    ] = None,
    include: Include = None,
    exclude: Exclude = None,
    no_ignore: NoIgnore = False,
    encoding: Encoding = None,
    markup: MarkupIn = None,
    embedding: Embedding = None,
    train_option: TrainOption = None,
    normalize: Normalize = None,
    weights: Weights = None,
    gamma: CollectionGamma = None,
    first_stage: FirstStage = None,
    first_stage_option: FirstStageOption = None,
    first_stage_in: FirstStageIn = None,
    vectors: Vectors = None,
    keys: Keys = None,
    faiss: Faiss = None,
    stop_words: StopWords = None,
    title_weight: TitleWeight = None,
    rank: OwnRank = None,
    trust_pickle: TrustPickle = False,
    prefix: Prefix = None,
    set_fields: SetFields = None,
    replaces: Replaces = None,
    prune: Prune = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    strict: Strict = False,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add or update forum threads: JSON, Discourse, Posts.xml of Stack Exchange, mbox, Maildir; weighted by rank."""
    from moverank.indexer.commands.update import RunSources
    from moverank.indexer.ranking_spec import PAPER_GAMMA
    from moverank.indexer.readers import Fields, Selection, read_threads
    from moverank.indexer.readers.origins import chosen_metadata

    encoder = (first_stage, first_stage_option, first_stage_in)
    words = (stop_words, title_weight)
    choices = settings_chosen(embedding, train_option, normalize, weights, gamma, encoder, faiss, words, rank)
    selection = Selection(tuple(include or ()), tuple(exclude or ()), not no_ignore)
    fields = Fields(key_field, title_field, text_field, label_field, comments_field)
    read = partial(
        read_threads, paths, fields=fields, format=format, selection=selection, encoding=encoding, markup=markup
    )
    defaults = {"gamma": PAPER_GAMMA}
    more = chosen_metadata(set_fields or ())
    sources = RunSources(paths, prefix, replaces, prune=prune, confirmed=yes, dry_run=dry_run, metadata=more)
    how: dict[str, Any] = {"trust_pickle": trust_pickle, "strict": strict, "wait": wait}
    _run(read, sources, index, choices, defaults, vectors=_vectors(vectors, keys), as_json=as_json, **how)


def settings_chosen(
    embedding: str | None,
    train_option: list[str] | None,
    normalize: bool | None,
    weights: str | None,
    gamma: float | None,
    encoder: tuple[str | None, list[str] | None, str | None],
    faiss: str | None,
    words: tuple[str | None, int | None],
    rank: str | None,
) -> dict[str, Any]:
    """Return the settings given by options, by name.

    `encoder`: first stage, its options and place; `words`: --stop-words and --title-weight; the others are the options.
    """
    from moverank.indexer.readers.stop_word_file import read_stop_words
    from moverank.rerank.words.stop_words import LISTS

    stop_words, title_weight = words
    choices = {
        "embedding": embedding,
        "train_options": tuple(train_option) if train_option else None,
        "normalize": normalize,
        "weights": weights,
        "gamma": gamma,
        "first_stage": encoder[0],
        # Options belong to an encoder: a new choice discards the old ones.
        "first_stage_options": tuple(encoder[1] or ()) if any(encoder[:2]) else None,
        "first_stage_in": encoder[2],
        "faiss": faiss,
        "stop_words": stop_words if stop_words is None or stop_words in LISTS else read_stop_words(stop_words),
        "title_weight": title_weight,
        "rank": rank,
    }
    return {name: value for name, value in choices.items() if value is not None}


def _vectors(vectors: str | None, keys: str | None) -> "VectorsByKey | None":
    """Return the vectors of --vectors and --keys, None without them; UsageError for one without the other."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.readers.vectors_by_key import VectorsByKey

    if vectors is None and keys is None:
        return None
    if keys is None or vectors is None:
        missing = "--keys FILE, the key of each row" if keys is None else "--vectors FILE.npy, the rows of these keys"
        raise UsageError(f"{'--vectors' if keys is None else '--keys'} needs {missing}")
    return VectorsByKey.read(vectors, keys)


def _run(
    read: "Read",
    sources: "RunSources",
    path: Path,
    choices: Mapping[str, Any],
    defaults: Mapping[str, Any],
    *,
    vectors: "VectorsByKey | None",
    trust_pickle: bool,
    strict: bool,
    wait: float,
    as_json: bool,
) -> None:
    """Update the collection at `path` with the records of `read`, and print the changes; for the rest see `update`."""
    from moverank.indexer.commands.update import update
    from moverank.indexer.formatters.dry_run import Planned
    from moverank.indexer.formatters.output import note, print_changes
    from moverank.indexer.formatters.progress_bars import Bars
    from moverank.indexer.formatters.rejection_notes import RejectionNotes

    planned = Planned() if sources.dry_run else None
    with interruptible(NOTHING_CHANGED), Bars() as bars, RejectionNotes() as rejected:
        updated = update(
            path,
            read,
            sources,
            choices,
            defaults=defaults,
            vectors=vectors,
            trust_pickle=trust_pickle,
            strict=strict,
            rejected=rejected,
            changed=planned.add if planned else lambda _, __: None,
            wait=wait,
            progress=bars,
        )
    for sentence in updated.sentences():
        note(sentence)
    if as_json or not updated.refused:
        print_changes(updated.changes, updated.seconds, planned, as_json=as_json)
    if updated.failed:
        sys.exit(FAILED)
