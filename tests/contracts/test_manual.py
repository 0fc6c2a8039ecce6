"""README and the manual name every command, option, JSON key, setting and public name, and only options that exist."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

import moverank
from moverank.indexer.commands.shared_options import SETTINGS, SettingChoices
from moverank.indexer.manual import page, topics
from moverank.indexer.operations.operation_registry import PLUG_INS as OPERATIONS
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.values.option import options_of
from moverank.indexer.vectors.word2vec_training import training_options
from moverank.rerank.encoders.first_stages import ENCODERS, encoder_class
from moverank.rerank.scorers import SCORERS, scorer_class
from tests.contracts.documentation import ALL_TEXT, PAGES, PROGRAM, ROOT, code_spans, commands, options, rows, sections
from tests.contracts.example_files import Runner

COMMANDS = dict(commands(PROGRAM))
SPANS = code_spans(ALL_TEXT)

TABLES = [
    (line["command"], name)
    for name in topics()
    for line in re.finditer(r"`moverank (?P<command>[a-z ]+) --help` shows", page(name))
]
"""The commands whose options a page has as a table, and the page."""

OTHER_PROGRAMS = {"--color-moved", "--hypothesis-profile", "--head", "--if-exists", "--pull", "--word-diff"}
"""Options in README and the manual that are not moverank's."""
SHELL_COMPLETION = {"--install-completion", "--show-completion"}
"""Typer adds them to the program itself."""

JSON_COMMANDS = {
    "index": "docs.jsonl.gz -i docs.index --embedding glove.6B.300d.txt.gz",
    "threads": "threads.jsonl -i forum --embedding glove.6B.300d.txt.gz",
    "search": "plug -i forum --exact --explain --rank wmd+bm25 -k 3",
    "similar": "plug-hot -i forum --explain -k 3 --rank wmd --exact --proof hot.proof",
    "verify": "hot.proof -k 3",
    "rerank": "--run run.trec --queries queries.jsonl -i docs.index -k 2",
    "compare": "key:plug-hot key:plug-hot -i forum",
    "pairs": "-i docs.index -k 3 --clusters",
    "dedupe": "-i docs.index --within 1 --flows",
    "explain": "plug plug-hot -i forum --why-not",
    "evaluate retrieval": "-i forum --qrels duplicates.tsv --method bow --method wmd --folds 0",
    "evaluate knn": "-i docs.index --method bow --times 1 -k 1",
    "evaluate gamma": "-i forum --qrels duplicates.tsv --grid 0,1",
    "evaluate bounds": "-i docs.index --sample 2",
    "evaluate multilabel": "-i docs.index --labels labels.tsv --method bow -k 2",
    "tune": "-i forum --qrels duplicates.tsv --folds 2",
    "refit": "-i docs.index",
    "info": "-i docs.index",
    "check": "-i docs.index",
    "backup": "copy -i docs.index",
    "upgrade": "-i docs.index",
    "copy": "docs.index docs.copied",
    "watch add": "plugs plug -i docs.index --within 9",
    "watch list": "-i docs.index",
    "list": "-i docs.index",
    "show": "plug-hot -i docs.index",
    "remove": "plug-hot -i docs.index",
    "watch events": "-i docs.index",
    "watch forget": "--before 1 -i docs.index",
    "watch remove": "plugs -i docs.index",
    "shards create": "-i new.toml --shards 2 --embedding glove.6B.300d.txt.gz",
    "shards info": "-i new.toml",
    "shards add": "s3 -i new.toml",
    "shards balance": "-i new.toml",
    "shards drop": "s3 -i new.toml",
}
"""Arguments for each command that has `--json`, in the order of execution."""

MORE_JSON = (
    "compare --versions key:plug-hot queries.jsonl -i forum",
    "pairs -i docs.index -k 3",
    "remove --where label=car -i docs.index --dry-run",
    "evaluate bounds -i docs.index --sample 2 --depths",
    "search --queries queries.jsonl -i forum --budget 1",
    "search plug -i forum --percentile -k 3",
    "info --source -i docs.index",
    "info --digest wmd -i docs.index",
    "index docs.jsonl.gz -i docs.index --dry-run",
)


def test_every_command_and_option_is_documented() -> None:
    missing = [name for name in COMMANDS if f"`moverank {name}" not in ALL_TEXT]
    missing += [f"{name} {option}" for name, command in COMMANDS.items() for option in options(command) - SPANS]
    assert missing == []


@pytest.mark.parametrize(("command", "name"), TABLES)
def test_a_table_has_the_options_of_its_command(command: str, name: str) -> None:
    """The line of the file that names the command is replaced by a row for each option with what its help says."""
    line = f"`moverank {command} --help` shows the options; `moverank help {name}` prints them here."
    before, found, _ = page(name).partition(line)
    assert found
    assert line not in PAGES[name]
    start = PAGES[name].index(before.splitlines()[-2])
    table = dict(rows(PAGES[name][start:], "option"))
    shown = [each.strip("`,") for names in table for each in names.split() if each.startswith("`--")]
    assert sorted(shown) == sorted(options(COMMANDS[command]) - {"--help", "--index", "--json"})
    for option in COMMANDS[command].params:
        if option.param_type_name == "option" and {*option.opts} & {*shown}:
            assert any(option.help.replace("|", r"\|") in meaning for meaning in table.values())


@pytest.mark.parametrize("name", PAGES)
def test_every_option_on_a_page_exists(name: str) -> None:
    known = (
        set().union(*map(options, COMMANDS.values()))
        | {"--cache", "--help", "--version"}
        | SHELL_COMPLETION
        | OTHER_PROGRAMS
    )
    assert set(re.findall(r"(?<![-\w])--[a-z][a-z-]*", PAGES[name])) <= known


@pytest.mark.parametrize("name", PAGES)
def test_every_command_on_a_page_exists(name: str) -> None:
    first_words = {command.split()[0] for command in COMMANDS} | {"COMMAND"}
    assert set(re.findall(r"`moverank ([a-zA-Z]\w*)", PAGES[name])) <= first_words


def test_every_setting_and_search_option_is_documented() -> None:
    names = {field.name for kind in (moverank.Settings, moverank.SearchOptions) for field in fields(kind)}
    assert names - SPANS == set()


@pytest.mark.parametrize("name", sorted(OPERATIONS.names()))
def test_every_option_of_an_operation_is_documented(name: str) -> None:
    declared = options_of(operation_named(name))
    assert {each for one in declared.values() for each in (one.name, one.key)} - SPANS == set()
    assert all(one.option.help.endswith(".") for one in declared.values())


def test_the_table_of_settings_says_which_option_chooses_each() -> None:
    table = {name.strip("`"): option.strip("`") for name, option, *_ in rows(PAGES["settings"], "setting")}
    own = {field.name: f"--{field.name.replace('_', '-')}" for field in fields(SettingChoices)}
    assert set(table) == {field.name for field in fields(moverank.Settings)}
    assert table == dict.fromkeys(SETTINGS, "--setting") | {name: own[name] for name in set(table) - set(SETTINGS)}


def test_every_public_name_is_documented() -> None:
    assert set(vars(moverank)["__all__"]) - code_spans(PAGES["library"]) == set()


def test_every_field_of_a_result_is_documented() -> None:
    kinds = (moverank.Changes, moverank.Flow, moverank.StageCounts, moverank.TermScale, moverank.WhyNot)
    assert {field.name for kind in kinds for field in fields(kind)} - SPANS == set()
    of_results = {field.name for kind in (moverank.Ranking, moverank.Hit) for field in fields(kind)}
    assert of_results - code_spans(sections(PAGES["library"])["Results"]) == set()


@pytest.mark.parametrize("name", ENCODERS)
def test_every_option_of_an_encoder_is_documented_with_its_default(name: str) -> None:
    (cells,) = [line for line in PAGES["settings"].splitlines() if line.startswith(f"| `{name}` |")]
    assert _written_defaults(encoder_class(name).options) - code_spans(cells) == set()


@pytest.mark.parametrize("name", SCORERS)
def test_every_option_of_a_scorer_is_documented(name: str) -> None:
    (cells,) = [line for line in PAGES["search"].splitlines() if re.match(rf"\| `.*\b{name}\b.*` \|", line)]
    documented = {span.partition("=")[0] for span in code_spans(cells)}
    assert {option.name for option in scorer_class(name).options} - documented == set()


def _written_defaults(given: Any) -> set[str]:
    """Return the defaults of options in the form in which a user writes them."""
    texts = {True: "yes", False: "no"}
    return {
        f"{option.name}={texts[option.default] if isinstance(option.default, bool) else f'{option.default:.10g}'}"
        for option in given
    }


@pytest.mark.parametrize("method", ["skip-gram", "lsi"])
def test_every_training_option_is_documented(method: str) -> None:
    with pytest.raises(ValueError, match="write KEY=VALUE with") as raised:
        training_options(method, ["nope=1"])
    names = str(raised.value).partition("KEY=VALUE with ")[2].split(", ")
    assert len(names) >= 3
    assert set(names) - code_spans(PAGES["settings"]) == set()


@pytest.mark.slow
def test_every_json_key_is_documented(runner: Runner) -> None:
    with_json = {name for name, command in COMMANDS.items() if "--json" in options(command)}
    assert set(JSON_COMMANDS) == with_json
    found: set[str] = set()
    for line in [*(f"{name} {arguments}" for name, arguments in JSON_COMMANDS.items()), *MORE_JSON]:
        if line.startswith("search --queries"):
            runner.run("moverank threads threads.jsonl -i forum")
        answer = runner.run(f"moverank {line} --json")
        found |= {_pattern(key) for value in answer.lines for key in _keys(value)}
    assert {"hits", "why_not", "chosen", "recall", "improvement@K"} <= found
    assert found - SPANS == set()


def _keys(value: object) -> Iterator[str]:
    """Return the keys of all objects in a value, but not the names of methods that are keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key == "shards" and isinstance(inner, dict):  # by their names
                inner = list(inner.values())
            yield from () if key in ("parts", "costs", "chosen", "metadata") else _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _pattern(key: str) -> str:
    """Return a key with K in the place of the number in `p@10`."""
    return re.sub(r"@\d+$", "@K", key)


def test_every_key_in_the_code_of_the_json_objects_is_documented() -> None:
    files = ("formatters/json_objects.py", "plugins/proofs/proving.py")
    trees = [ast.parse((ROOT / "indexer" / file).read_text(encoding="utf-8")) for file in files]
    found = {key for tree in trees for node in ast.walk(tree) for key in _constant_keys(node)}
    assert len(found) > 10
    assert found - SPANS == set()


def _constant_keys(node: ast.AST) -> Iterator[str]:
    keys: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        keys = list(node.keys)
    elif isinstance(node, ast.Assign):
        keys = [target.slice for target in node.targets if isinstance(target, ast.Subscript)]
    for key in keys:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value
