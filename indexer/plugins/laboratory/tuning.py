"""The command that finds the best ranking for a user's judgments: `tune`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from moverank.indexer.plugins.laboratory.evaluating import QRELS, JudgedQueries, add_command
from moverank.indexer.values.option import Option
from moverank.indexer.values.search_options import Progress, silent

if TYPE_CHECKING:
    from moverank.indexer.plugins.laboratory.method import Table

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class TuningExperiment(JudgedQueries):
    """Find the ranking that is best by your judgments, and measure it on queries that were not used to choose it."""

    NAME: ClassVar = "tune"
    EXAMPLES: ClassVar = (
        "Examples: `moverank tune -i forum --links PostLinks.xml --save`  "
        "`moverank tune -i docs.index --qrels qrels.tsv --queries queries.jsonl`"
    )
    DRAWN: ClassVar = False

    qrels: Annotated[str | None, QRELS] = None
    pairs: Annotated[
        str | None, Option("Related documents, a pair on each line: `key<TAB>other key`.", metavar="FILE")
    ] = None
    links: Annotated[str | None, Option("The PostLinks.xml of a Stack Exchange data dump.", metavar="FILE")] = None
    measure: Annotated[str, Option("What to maximise, as in `evaluate retrieval`.", metavar="NAME")] = "map"
    folds: Annotated[int, Option("Number of folds of the cross-validation.", least=2)] = 5
    cutoff: Annotated[int, Option("Number of documents that are ranked for a query.", least=1)] = 100
    language: Annotated[
        str | None, Option("Language of the stems to try, such as de.", "the collection's", metavar="CODE|none")
    ] = None
    save: Annotated[bool, Option("Store the result as the ranking of the collection.")] = False

    def run(self, index: Path, progress: Progress = silent) -> "Table":
        """Return the figures of the ranking before, and of the one found."""
        from moverank.indexer.plugins.laboratory.tuned_ranking import tune_ranking

        return tune_ranking(index, self, progress)


add_command(app, TuningExperiment)
