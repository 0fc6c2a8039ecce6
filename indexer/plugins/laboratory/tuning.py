"""The command that finds the best ranking for a user's judgments: `tune`."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index
from moverank.indexer.plugins.laboratory.evaluating import JudgedQueryChoices, ResultChoices, run_experiment

app = typer.Typer()


@app.command(
    epilog="Examples: `moverank tune -i forum --links PostLinks.xml --save`  "
    "`moverank tune -i docs.index --qrels qrels.tsv --queries queries.jsonl`"
)
@with_records
def tune(  # over 40 lines: most of them are its options
    *,
    index: Index = DEFAULT_INDEX,
    qrels: Annotated[
        str | None, typer.Option(metavar="FILE", help="TREC judgments, one a line: `query 0 document grade`.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Related documents, a pair on each line: `key<TAB>other key`."),
    ] = None,
    links: Annotated[
        str | None, typer.Option(metavar="FILE", help="The PostLinks.xml of a Stack Exchange data dump.")
    ] = None,
    measure: Annotated[str, typer.Option(metavar="NAME", help="What to maximise, as in `evaluate retrieval`.")] = "map",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")] = 5,
    cutoff: Annotated[int, typer.Option(min=1, help="Number of documents that are ranked for a query.")] = 100,
    language: Annotated[
        str | None,
        typer.Option(metavar="CODE|none", help="Language of the stems to try, such as de. [default: the collection's]"),
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Store the result as the ranking of the collection.")] = False,
    judged: JudgedQueryChoices,
    result: ResultChoices,
) -> None:
    """Find the ranking that is best by your judgments, and measure it on queries that were not used to choose it."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.plugins.laboratory.tuned_ranking import tune_ranking
    from moverank.indexer.reading.inputs.judgments import read_pairs, read_post_links, read_qrels

    given = [
        (read, path) for read, path in ((read_qrels, qrels), (read_pairs, pairs), (read_post_links, links)) if path
    ]
    if len(given) != 1:
        raise UsageError("give one of --qrels, --pairs and --links")
    ((read, path),) = given
    experiment = partial(
        tune_ranking,
        Path(index),
        read(path),
        measure_name=measure,
        folds=folds,
        cutoff=cutoff,
        language=language,
        save=save,
        **asdict(judged),
    )
    run_experiment(experiment, result)
