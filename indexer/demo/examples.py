"""The queries of the demo with their expected hits, and the training options of its collections.

Both collections train their word vectors on their own texts by LSI: words that occur in the same texts, or with the
same other words, get similar vectors. Words that do not occur in these texts have no vector.
"""

from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

DOCSTRING_TRAINING = ("dim=100",)
THREAD_TRAINING = ("dim=25",)
"""Options for LSI with about as many dimensions as the threads have topics, so that each topic gets a direction."""


class Example(NamedTuple):
    """A query, the keys `expected` among its first three hits, and an explanation of them.

    `text` is the query for `search`, or the key of the document for `similar`. `rank` None: the default ranking.
    """

    command: Literal["search", "similar"]
    text: str
    expected: tuple[str, ...]
    explanation: str
    rank: str | None = None


DOCSTRING_QUERIES = (
    Example(
        "search",
        "wrap a paragraph",
        ("textwrap",),
        "The best hit has neither word; those that have both are further down: they are about other things, too.",
        "wmd",
    ),
    Example(
        "search",
        "kill a subprocess",
        ("subprocess.Popen.kill", "subprocess.Popen.terminate"),
        "`terminate` shares no word with the query, and ranks above others that do.",
        "wmd",
    ),
    Example(
        "search",
        "login with a password",
        ("urllib.parse._splitpasswd", "imaplib.IMAP4.login"),
        "The best hit has user and passwd instead.",
        "wmd",
    ),
    Example(
        "search",
        "login with a password",
        ("imaplib.IMAP4.login",),
        "By default, common words count, too: a sum of WMD, coverage, BM25 and a cosine, certified like the distance.",
    ),
)

THREAD_QUERIES = (
    Example(
        "search",
        "bedroom is freezing",
        ("lukewarm-radiators", "bleeding-order"),
        "Both threads are about cold radiators; neither has a word of the query.",
        "pwmd",
    ),
    Example(
        "similar",
        "yellow-tomatoes",
        ("pale-foliage",),
        "The third hit is about the same problem and shares no word with the thread but stop words.",
        "pwmd",
    ),
    Example(
        "similar",
        "fuse-blows",
        ("flat-bread",),
        "With plain WMD all posts have the same weight: the answers digress to baking, so it finds bread.",
        "wmd",
    ),
    Example(
        "similar",
        "fuse-blows",
        ("overload", "dark-kitchen", "breaker-trips"),
        "With P-WMD posts weigh less the lower they rank: now it finds the other threads about kitchens without power.",
        "pwmd",
    ),
)


def threads_path() -> Path:
    """Return the file of sample threads: JSON lines, 114 short help desk threads, written for the demo."""
    return Path(str(files("moverank.indexer.demo") / "threads.jsonl"))
