"""Options that several commands share; the defaults of a search are those of `SearchOptions`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from moverank.indexer.commands.completion import complete_field, complete_format, complete_rank, complete_source
from moverank.indexer.options import DEFAULT_DEPTH, EXACT_UP_TO, SearchOptions

DEFAULT_INDEX = Path("moverank.index")
SEARCH_DEFAULTS = SearchOptions()

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
        envvar="MOVERANK_INDEX",
        metavar="DIR|URL",
        help="Directory of the collection, or postgresql://USER@HOST/DATABASE?schema=NAME.",
        show_default=True,
        parser=str,  # a Path would drop slashes of a URL
        callback=_directory,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

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


# ---- index and threads

Paths = Annotated[list[str], typer.Argument(help="Files, directories, glob patterns, or - for standard input.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of the files. [default: detected]", autocompletion=complete_format),
]
KeyField = Annotated[str | None, typer.Option(metavar="NAME", help="Field of a record's key.")]
TitleField = Annotated[str | None, typer.Option(metavar="NAME", help="Field of its title.")]
TextField = Annotated[str | None, typer.Option(metavar="NAME", help="Field of its text.")]
LabelField = Annotated[str | None, typer.Option(metavar="NAME", help="Field of its label.")]
MarkupIn = Annotated[
    Literal["keep", "strip"] | None,
    typer.Option("--markup", help="Keep HTML in records as it is, or strip it. [default: strip what is HTML]"),
]
Embedding = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|gensim:NAME|train|lsi",
        help="Word vectors: a word2vec, GloVe or fastText file, a model of gensim's downloader, or trained on the "
        "texts (train: word2vec; lsi). [default: trained]",
    ),
]
TrainOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Option of train or lsi, such as dim=100; repeatable.")
]
Normalize = Annotated[
    bool | None,
    typer.Option("--normalize/--no-normalize", help="Scale word vectors to unit length. [default: only trained ones]"),
]
Weights = Annotated[
    Literal["tf", "tfidf"] | None, typer.Option(help="Word weights: term frequency, or with idf. [default: tf]")
]
CollectionGamma = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        min=0,
        help="Sensitivity to rank of the collection's searches: 0 ignores ranks. "
        "[default: in a new collection 0, or 0.75 for threads]",
    ),
]
FirstStage = Annotated[
    str | None,
    typer.Option(
        metavar="centroid|fisher|lsi|lda|msda|ccg|given|NAME[+SCORER]",
        help="Document vectors of the first stage: an encoder, perhaps one of your own, or given with the documents; "
        "fisher+bm25 adds the best candidates of BM25. [default: centroid]",
    ),
]
FirstStageOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Option of the first stage, such as k=64; repeatable.")
]
FirstStageIn = Annotated[
    Literal["files", "database"] | None,
    typer.Option(
        help="Where document vectors are: in files of each machine, or in PostgreSQL with pgvector. [default: files]"
    ),
]
Vectors = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.npy",
        help="Vectors of the documents for --first-stage given: a matrix, whose row i belongs to line i of --keys. "
        "[default: the field `vector` of records]",
    ),
]
Keys = Annotated[
    str | None, typer.Option(metavar="FILE", help="With --vectors: the keys of its rows, one on each line.")
]
Faiss = Annotated[
    str | None, typer.Option(metavar="FACTORY", help="FAISS factory string, or auto: by size. [default: auto]")
]
StopWords = Annotated[
    str | None, typer.Option(metavar="FILE|english|none", help="File of words to ignore, or none. [default: english]")
]
TitleWeight = Annotated[
    int | None,
    typer.Option(min=1, max=100, help="How many times the words of a title count. [default: 3]"),
]
TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load gensim's .kv and .model files: pickles, which can run arbitrary code."),
]
OwnRank = Annotated[
    str | None,
    typer.Option(
        "--rank",
        metavar="SPEC",
        help="The collection's ranking, by which it is searched without --rank; see `moverank help ranking`.",
        autocompletion=complete_rank,
    ),
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Remove the documents that came from these sources and are no longer there.")
]
Yes = Annotated[bool, typer.Option("--yes", help="With --prune, remove even more than half of these documents.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be added, updated and removed; change nothing.")
]
Prefix = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Put NAME/ in front of the keys of these sources, also in later runs. All runs from standard input "
        "with one NAME are one source.",
    ),
]
SetFields = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Metadata of every record of this run, such as site=bikes, instead of its own field; repeatable.",
    ),
]
Replaces = Annotated[
    str | None,
    typer.Option(
        metavar="SOURCE",
        help="The path was moved: the documents of SOURCE, as `info --source` prints it, belong to it from now on.",
        autocompletion=complete_source,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first bad record and write nothing.")]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="In directories, read only files which match, such as *.md; repeatable."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Leave out files and directories which match, such as drafts/; repeatable."),
]
NoIgnore = Annotated[bool, typer.Option("--no-ignore", help="Read also what a .gitignore leaves out.")]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Encoding of the texts, such as latin-1. [default: utf-8]")
]
Pre = Annotated[
    str | None,
    typer.Option(metavar="COMMAND", help="Extract the text of other files: 'pdftotext {} -'; {} is the file."),
]
PreGlob = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN", help="Files for --pre, such as *.pdf; repeatable. [default: all which are no text]"
    ),
]
PreTimeout = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Stop --pre when it takes longer for one file.")
]

# ---- search, similar and explain

K = Annotated[int, typer.Option("-k", min=1, help="Number of hits.")]
Depth = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of candidates from the first stage. "
        f"[default: all; {DEFAULT_DEPTH} in collections of over {EXACT_UP_TO:,} documents]",
        show_default=False,
    ),
]
Exact = Annotated[
    bool, typer.Option("--exact", help="Compare every document; with --depth, after the candidates of the first stage.")
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", help="Stop after SECONDS and report how far the result may be off. [default: no limit]"
    ),
]
MaxDistance = Annotated[
    float | None,
    typer.Option(
        "--max-distance",
        metavar="D",
        help="Leave out hits with a larger distance, or a larger total of a sum. [default: no limit]",
    ),
]
Rank = Annotated[
    str | None,
    typer.Option(
        "--rank",
        metavar="SPEC",
        help="What to rank by: a distance (wmd, pwmd, rwmd, chamfer, cover, wcd), a scorer (bm25:stem=english), an "
        "encoder, or a sum of these (wmd:weights=tfidf+0.5*bm25); see `moverank help ranking`. "
        "[default: the collection's]",
        autocompletion=complete_rank,
    ),
]
Distance = Annotated[
    str | None,
    typer.Option("--distance", metavar="SPEC", help="The same as --rank.", autocompletion=complete_rank),
]
Gamma = Annotated[
    float | None, typer.Option(min=0, help="Sensitivity to rank: 0 ignores ranks. [default: the collection's]")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Only documents with this label, metadata, key or source: FIELD=V, !=, <, <=, >, >=, ^= (prefix), FIELD, "
        "!FIELD; repeatable, see `moverank help filters`.",
        autocompletion=complete_field,
    ),
]
QueryFile = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="The query is this whole file; - is standard input.")
]
QueryThread = Annotated[
    str | None,
    typer.Option(
        "--thread", metavar="FILE", help="The query is the thread in this file, with its ranks; - is standard input."
    ),
]
QueryVector = Annotated[
    str | None,
    typer.Option(
        metavar="LIST|FILE",
        help="The query's vector where the first stage is `given`: a JSON list, a file of one, a .npy file, or - for "
        "standard input; with --queries a matrix, a row for each query.",
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="MOVERANK_SERVER",
        help="Search by a running `moverank serve`, in its collection of this name; $MOVERANK_TOKEN is its token.",
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Show the whole text of each hit instead of an extract.")]
GroupBy = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="FIELD",
        help="Only the best hit of each value of this field, label or metadata, such as the page of a chunk.",
        autocompletion=complete_field,
    ),
]
HtmlPage = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write the hits, with their flows, as an HTML page.")
]
TableFormat = Annotated[Literal["text", "csv"], typer.Option("--format", help="csv: a table with a header.")]
Flows = Annotated[bool, typer.Option("--explain", help="Show every word that moved.")]

# ---- evaluate

Qrels = Annotated[str, typer.Option(metavar="FILE", help="TREC judgments, one a line: `query 0 document grade`.")]
QueryTexts = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="JSONL with id and text. [default: query ids are keys of documents]"),
]
Candidates = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Rank only these: a TREC run, or one a line: `query document rank`."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="NAME", help="map, rprec, mrr, p@K, recall@K or ndcg@K; repeatable."),
]
KeyPrefix = Annotated[
    str | None,
    typer.Option(
        "--prefix", metavar="NAME", help="Put NAME/ in front of the keys in these files, as `index --prefix` did."
    ),
]
WithoutSelf = Annotated[bool, typer.Option("--without-self", help="Exclude the document whose key is the query's id.")]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME[:KEY=VALUE,...]",
        help="A row of the table; repeatable. [default: the usual methods]",
        autocompletion=complete_rank,
    ),
]
Proximity = Annotated[
    Literal["empirical", "gaussian", "gamma"] | None,
    typer.Option(help="Add a row for each method with mutual proximity, which reduces hubness."),
]
Cutoff = Annotated[
    str, typer.Option(metavar="N|all", help="Number of documents that are ranked for a query, or all of them.")
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Test the other rows against this one. [default: bm25 with stems, or else the first]"
    ),
]
RunFile = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="FILE",
        help="Write the ranking as a TREC run; of several methods a file for each, as run.bm25.trec for run.trec.",
    ),
]
PerQuery = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the measures of each query to this file, as CSV.")
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=0, help="Add a row: for each fold of queries, the best method on the others; 0: leave one query out."
    ),
]
Train = Annotated[
    str | None,
    typer.Option(metavar="QRELS", help="Add a row: the best method by these judgments of other queries."),
]
Clean = Annotated[bool, typer.Option("--clean", help="Exclude exact and near duplicates.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw a figure: .svg, .pdf or .png (extra `plot`).")
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the rows to this file.")]
