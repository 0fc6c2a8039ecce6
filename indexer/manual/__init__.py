"""The manual: one Markdown page for each topic, shipped with the package and shown by `moverank help TOPIC`."""

from importlib.resources import files

from moverank.indexer.errors import UsageError
from moverank.rerank.options import did_you_mean

TOPICS = (
    "commands",
    "formats",
    "sources",
    "settings",
    "search",
    "filters",
    "ranking",
    "evaluation",
    "safety",
    "library",
    "reranking",
    "server",
    "postgresql",
    "shards",
    "adapters",
    "engines",
    "encoders",
    "figures",
)
"""The pages in the order of reading."""


def topics() -> dict[str, str]:
    """Return the one-line summary of each page by its topic: the part of its heading that follows the colon."""
    return {topic: page(topic).partition("\n")[0].partition(": ")[2] for topic in TOPICS}


def page(topic: str) -> str:
    """Return the Markdown of the page `topic`; raise UsageError, which lists the topics, for any other name."""
    if topic not in TOPICS:
        raise UsageError(
            f"the manual has no page {topic!r}{did_you_mean(topic, TOPICS)}: choose one of {', '.join(TOPICS)}"
        )
    return files(__name__).joinpath(f"{topic}.md").read_text(encoding="utf-8")
