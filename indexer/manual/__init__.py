"""The manual: one Markdown page for each topic, shipped with the package and shown by `moverank help TOPIC`."""

from importlib.resources import files
from textwrap import wrap

from moverank.indexer.errors import UsageError
from moverank.rerank.options import did_you_mean
from moverank.rerank.words.tokenizer import stop_words

TOPICS = (
    "commands",
    "formats",
    "sources",
    "settings",
    "words",
    "languages",
    "search",
    "filters",
    "ranking",
    "evaluation",
    "proofs",
    "safety",
    "library",
    "reranking",
    "evidence",
    "server",
    "deploy",
    "postgresql",
    "shards",
    "adapters",
    "engines",
    "recipes",
    "plugins",
    "encoders",
    "figures",
)
"""The pages in the order of reading."""

_STOP_WORDS = "The list is the file `rerank/words/stop_words/en.txt`; `moverank help words` prints it here."
"""The line of the page `words` that is replaced by the stop words."""


def topics() -> dict[str, str]:
    """Return the one-line summary of each page by its topic: the part of its heading that follows the colon."""
    return {topic: page(topic).partition("\n")[0].partition(": ")[2] for topic in TOPICS}


def page(topic: str) -> str:
    """Return the Markdown of the page `topic`; raise UsageError, which lists the topics, for any other name.

    The page `words` gets the stop words where it names their file.
    """
    if topic not in TOPICS:
        raise UsageError(
            f"the manual has no page {topic!r}{did_you_mean(topic, TOPICS)}: choose one of {', '.join(TOPICS)}"
        )
    text = files(__name__).joinpath(f"{topic}.md").read_text(encoding="utf-8")
    return text.replace(_STOP_WORDS, "\n".join(wrap(" ".join(sorted(stop_words())), 140))) if topic == "words" else text
