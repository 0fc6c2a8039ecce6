"""The command `compare`: what sources cover of a claim, and the changes between two versions of a text."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moverank.indexer import formatters, reading
from moverank.indexer.commands.failures import FAILED
from moverank.indexer.commands.option_records import typed_option
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json
from moverank.indexer.errors import NoCollection, UsageError
from moverank.indexer.values.arguments import finite_number
from moverank.indexer.values.search_options import TAU

if TYPE_CHECKING:
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.values.documents import Document

app = typer.Typer()

_KEY = "key:"


@app.command(
    epilog="Examples: `moverank compare claim.txt source.txt -i docs.index`  `moverank compare - key:a key:b --json`  "
    "`moverank compare --versions old.md new.md --vectors glove.txt.gz --html changes.html`"
)
def compare(
    claim: Annotated[
        str,
        typer.Argument(metavar="A", help="The claim, or the old version: a file, - for standard input, or key:KEY."),
    ],
    others: Annotated[
        list[str], typer.Argument(metavar="B...", help="Its sources, or the new version: likewise.", show_default=False)
    ],
    index: Index = DEFAULT_INDEX,
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors",
            "--embedding",
            metavar="PATH|gensim:NAME|hf:NAME",
            help="Word vectors, instead of those of the collection.",
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="With --vectors: the language of the texts, such as de. [default: en]"),
    ] = None,
    within: Annotated[float | None, typed_option(TAU)] = None,
    versions: Annotated[
        bool, typer.Option("--versions", help="A and B are two versions of a text: show what changed.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page with the texts side by side.")
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Exit with code 1 if less than this share, 0 to 1, is covered, or with --versions carried, or if a "
            "limit or a negation of A is another one in B.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what sources cover of a claim, sentence by sentence, or what changed between two versions; certified.

    Numbers and quantities are carried to equal ones only, dates to those that say the same or more, and words to words
    of the same polarity. What is covered need not be true.
    """
    from moverank.indexer.files.atomic_write import check_writable

    if [claim, *others].count("-") > 1:
        raise UsageError("only one of the texts can be standard input")
    if versions and len(others) != 1:
        raise UsageError("--versions compares two texts: give the old and the new version")
    if language is not None and vectors is None:
        raise UsageError("--language goes with --vectors: a collection has its language")
    if html is not None:
        check_writable(html)
    if within is not None:
        finite_number("--within", within)
    reranker, documents = _opened([claim, *others], index, vectors, language)
    share, is_reversed = _show(reranker, documents, within, html, versions=versions, as_json=as_json)
    if fail_under is not None and (share < fail_under or is_reversed):
        sys.exit(FAILED)


def _opened(
    named: Sequence[str], index: Path, vectors: str | None, language: str | None
) -> "tuple[Reranker, list[Document]]":
    """Return a reranker with the word vectors, and the texts that are named, with their names as keys."""
    from moverank.indexer.collection import Collection
    from moverank.indexer.files.location import display_name
    from moverank.indexer.plugins.evidence.compare import load_comparer

    if vectors is None and not Collection.exists(index):
        raise NoCollection(
            f"there is no collection in {display_name(index)}: name one by -i, or a file of word vectors by --vectors"
        )
    found = list["Document"]()
    with ExitStack() as stack:
        if any(name.startswith(_KEY) for name in named):
            contents = stack.enter_context(stack.enter_context(Collection.open(index)).contents())
        for name in named:
            if name.startswith(_KEY):
                document = contents.describe(name.removeprefix(_KEY)).document
            else:
                document = reading.read_query_file(name, "text")
            found.append(replace(document, key=name))
    return load_comparer(vectors or index, language=language), found


def _show(
    reranker: "Reranker",
    documents: "Sequence[Document]",
    within: float | None,
    html: Path | None,
    *,
    versions: bool,
    as_json: bool,
) -> tuple[float, bool]:
    """Print what the sources cover of the claim, or the changes between two versions.

    Return the share that is covered or carried, and whether a source says the contrary of something.
    """
    from moverank.indexer.files.atomic_write import write_text
    from moverank.indexer.plugins.evidence.comparison_page import changes_page, evidence_page
    from moverank.indexer.plugins.evidence.comparison_view import changes_view, evidence_view

    (first, *others), colour = documents, formatters.has_colours()
    if versions:
        new, changes = others[0], reranker.changes(first, others[0], within)
        named, found = {"old": first.key, "new": new.key}, changes.to_dict()
        share, is_reversed = changes.carried, False
        page, view = (
            partial(changes_page, changes, first, new),
            partial(changes_view, changes, first, new, colour=colour),
        )
    else:
        evidence, sources = reranker.evidence(first, others, within), {one.key: one for one in others}
        named, found = {"claim": first.key}, evidence.to_dict()
        share, is_reversed = evidence.covered, evidence.reversed
        page = partial(evidence_page, evidence, first, sources)
        view = partial(evidence_view, evidence, first, sources, colour=colour)
    if html is not None:
        write_text(html, page())
    if as_json:
        formatters.print_object(named | found)
    else:
        formatters.print_view(view())
    return share, is_reversed
