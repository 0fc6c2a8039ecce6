"""The manual: one Markdown page for each topic, shipped with the package and shown by `moverank help TOPIC`."""

import re
from collections.abc import Iterator
from importlib.resources import files
from textwrap import wrap
from typing import Any

from moverank.indexer.errors import UsageError
from moverank.rerank.options import did_you_mean
from moverank.rerank.words.tokenizer import stop_words

TOPICS = (
    "first",
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


_OPTIONS = re.compile(
    r"^`moverank (?P<command>[a-z ]+) --help` shows the options; `moverank help [a-z]+` prints them here\.$",
    re.MULTILINE,
)
"""A line of a page that is replaced by the table of a command's options."""

_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
"""The name of an option, as in `--depth N`."""

_EVERYWHERE = {"--help", "--index", "--json"}
"""Options that the page `commands` describes for all commands: tables leave them out."""


def topics() -> dict[str, str]:
    """Return the one-line summary of each page by its topic: the part of its heading that follows the colon."""
    return {topic: _text(topic).partition("\n")[0].partition(": ")[2] for topic in TOPICS}


def page(topic: str, program: Any = None) -> str:
    """Return the Markdown of the page `topic`; raise UsageError, which lists the topics, for any other name.

    The page `words` gets the stop words where it names their file. `program` is the Click group of all commands: with
    it, a line that names where the options of a command are shown is replaced by their table.
    """
    if topic not in TOPICS:
        raise UsageError(
            f"the manual has no page {topic!r}{did_you_mean(topic, TOPICS)}: choose one of {', '.join(TOPICS)}"
        )
    text = _text(topic)
    if topic == "words":
        text = text.replace(_STOP_WORDS, "\n".join(wrap(" ".join(sorted(stop_words())), 140)))
    return text if program is None else _OPTIONS.sub(lambda line: _table(program, line), text)


def _text(topic: str) -> str:
    """Return the text of a page as it is in its file."""
    return files(__name__).joinpath(f"{topic}.md").read_text(encoding="utf-8")


def _table(program: Any, line: re.Match[str]) -> str:
    """Return the table of the options of the command that a line names; the line itself if no plug-in has it."""
    command, context = program, program.context_class(program, **program.context_settings)
    for word in line["command"].split():
        command = command.commands.get(word)
        if command is None:
            return line[0]
        context = command.context_class(command, parent=context)
    return "\n".join(["| option | meaning |", "|---|---|", *_rows(command, context)])


def _rows(command: Any, context: Any) -> Iterator[str]:
    """Yield a row for each option of a Click command, in the order of its help."""
    for option in command.get_params(context):
        if option.param_type_name == "option" and _EVERYWHERE.isdisjoint(option.opts):
            names, meaning = option.get_help_record(context)
            spans = _OPTION.sub(lambda name: f"`{name[0]}`", names).replace("|", r" \| ")  # lines may end there
            sentence = meaning.replace("  [", " [").replace("|", r"\|")
            yield f"| {spans} | {sentence} |"
