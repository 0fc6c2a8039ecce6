"""What `moverank demo` indexes and asks: texts that are there without a network, and questions that tell something.

Both collections learn their word vectors from their own texts by LSI: words that occur in the same texts, or beside
the same other words, come to lie together. That is no knowledge of the language: words that these texts never use
have no vector.
"""

from pathlib import Path
from typing import Literal, NamedTuple

from moverank.indexer.demo.docstrings import docstring_documents

__all__ = [
    "DOCSTRING_QUERIES",
    "DOCSTRING_TRAINING",
    "THREAD_GAMMA",
    "THREAD_QUERIES",
    "THREAD_TRAINING",
    "Example",
    "docstring_documents",
    "threads_path",
]

DOCSTRING_TRAINING = ("dim=100",)
THREAD_TRAINING = ("dim=25",)
"""Dimensions of LSI: about as many as there are kinds of trouble in the threads, so that each gets a direction."""

THREAD_GAMMA = 0.75
"""Sensitivity to rank of the threads' collection, as in Trapp et al. 2017, section 5."""


class Example(NamedTuple):
    """A question, what it has to find, and what that shows.

    `text` is the query of a search, or the key of the document that others shall be similar to. `gamma` None: that of
    the collection. `expected` holds keys that must be among the first three hits.
    """

    command: Literal["search", "similar"]
    text: str
    expected: tuple[str, ...]
    why: str
    gamma: float | None = None


DOCSTRING_QUERIES = (
    Example(
        "search",
        "wrap a paragraph",
        ("textwrap",),
        "The best hit has neither word; those that have both are further down, because they speak of more besides.",
    ),
    Example(
        "search",
        "kill a subprocess",
        ("subprocess.Popen.kill", "subprocess.Popen.terminate"),
        "`terminate` shares no word with the query, and comes before others that do.",
    ),
    Example(
        "search",
        "login with a password",
        ("urllib.parse._splitpasswd", "imaplib.IMAP4.login"),
        "The best hit writes user and passwd instead.",
    ),
)

THREAD_QUERIES = (
    Example(
        "search",
        "bedroom is freezing",
        ("lukewarm-radiators", "bleeding-order"),
        "Both threads are about cold radiators; neither has a word of the query.",
    ),
    Example(
        "similar",
        "yellow-tomatoes",
        ("pale-foliage",),
        "The third hit is about the same trouble and shares no word with the thread but stop words.",
    ),
    Example(
        "similar",
        "fuse-blows",
        ("flat-bread",),
        "At gamma 0 all posts count alike: people drifted off to baking, so plain WMD finds bread.",
        0.0,
    ),
    Example(
        "similar",
        "fuse-blows",
        ("overload", "dark-kitchen", "breaker-trips"),
        "With P-WMD posts count less the lower they rank: now it finds the others whose kitchen goes dark.",
    ),
)


def threads_path() -> Path:
    """Return where the sample of threads lies: JSON lines, 114 short threads of a help desk, written for the demo."""
    from importlib.resources import files

    return Path(str(files(__name__) / "threads.jsonl"))
