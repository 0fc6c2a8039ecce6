"""Every example of README and the manual runs, and every message in the tables of bad input is the program's."""

import ast
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.documentation import PAGES, ROOT, Example, examples, rows, sections
from tests.contracts.example_files import Runner
from tests.engines.vector_engines import ENGINES
from tests.rerank.encoders.packages import install

pytestmark = pytest.mark.slow

DOWNLOADS = ("gensim:", "hf:")
"""Examples with these vectors need a network: they are not run."""

OWN_PACKAGE = "python -m pip install ./"
"""A line which installs a package that is written out on the page."""

OTHER_COMMANDS = ("python -m pip install ", "python tests/benchmarks/")
"""Lines for the shell that are no commands of moverank."""


OPTIONAL = ("adapters", "engines", "recipes")
"""Pages whose sections need packages that may not be installed; all of them need the examples above the first."""
SECTIONS = [
    (name, title) for name in OPTIONAL for title, text in sections(PAGES[name]).items() if title and "```" in text
]


_UNCLOSED = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <_io.FileIO name='glove:pytest.PytestUnraisableExceptionWarning"
)
"""gensim's loader leaves the file of vectors open."""


@pytest.mark.slow
@_UNCLOSED
@pytest.mark.parametrize("name", [name for name in PAGES if name not in OPTIONAL])
def test_examples_of_a_page_run_in_their_order(name: str, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for example in examples(PAGES[name]):
        if example.text.startswith(OWN_PACKAGE):
            package = runner.place / example.text.split()[-1]
            monkeypatch.syspath_prepend(install(package, runner.place / "installed"))
        else:
            _run(name, example, runner, {})


@_UNCLOSED
# PyTerrier 1.1 and pandas 3.1: PyTerrier itself drops columns in place.
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame:DeprecationWarning")
@pytest.mark.parametrize(("name", "title"), SECTIONS)
def test_examples_of_a_section_run_where_its_packages_are_installed(
    name: str, title: str, runner: Runner, request: pytest.FixtureRequest
) -> None:
    found = sections(PAGES[name])
    shown = [*examples(found[""]), *examples(found[title])]
    packages = _packages(shown)
    for package in sorted(packages):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}, of an extra")
    if "psycopg" in packages:
        request.getfixturevalue("postgres")
    names: dict[str, Any] = {}  # an example goes on from those before it
    for example in shown:
        _run(f"{name}, {title}", example, runner, names)


def test_every_engine_has_a_section() -> None:
    assert [title for name, title in SECTIONS if name == "engines"] == list(ENGINES)


def _packages(shown: list[Example]) -> set[str]:
    """Return the packages other than moverank's and the standard library's that blocks of Python import."""
    trees = [ast.parse(example.text) for example in shown if example.kind == "python"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imported += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in imported} - {"moverank", *sys.stdlib_module_names}


def _run(name: str, example: Example, runner: Runner, names: dict[str, Any]) -> None:
    """Run an example in the directory of the runner; a block of Python has the `names`, and adds its own."""
    if example.kind == "shell":
        _run_line(name, example, runner)
    elif example.kind == "python":
        code = compile("\n" * (example.line - 1) + example.text, f"{name}.md", "exec")
        names["__name__"] = "example"
        exec(code, names)  # noqa: S102 - that is the test
    else:
        language, file = example.info.split()
        if language == "shell":  # lines for a running server: see tests/indexer/plugins/serving/test_manual.py
            return
        assert language in ("json", "md", "python", "toml")
        (runner.place / file).parent.mkdir(exist_ok=True)
        (runner.place / file).write_text(example.text)


def _run_line(name: str, example: Example, runner: Runner) -> None:
    if example.text.startswith(OTHER_COMMANDS) or any(source in example.text for source in DOWNLOADS):
        return
    if ".parquet" in example.text and find_spec("pyarrow") is None:  # of an extra
        return
    assert example.text.startswith("moverank "), f"{name}.md:{example.line}: an unknown kind of example"
    answer = runner.run(example.text)
    assert answer.code == 0, f"{name}.md:{example.line}: {example.text}\n{answer.err}"


def test_there_are_examples_of_every_kind() -> None:
    kinds = [(name, example.kind) for name, text in PAGES.items() for example in examples(text)]
    assert {name for name, _ in kinds} == set(PAGES) - {"deploy", "figures"}
    assert {kind for _, kind in kinds} == {"shell", "python", "file"}


def test_benchmarks_that_are_examples_exist() -> None:
    lines = [example.text for text in PAGES.values() for example in examples(text) if example.kind == "shell"]
    scripts = [line.split()[1] for line in lines if line.startswith("python tests/")]
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts)


def test_messages_for_bad_input_are_the_program_s(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.files.gzip_limit.ALWAYS_ALLOWED", 1 << 16)  # a bomb of a GiB takes seconds
    assert runner.run("moverank index docs.jsonl.gz -i docs.index").code == 0
    more = Path(__file__).with_name("messages.md").read_text(encoding="utf-8")
    table, wrong = [row for text in (PAGES["safety"], more) for row in rows(text, "what is wrong")], []
    assert len(table) > 35
    for _, command, code, message in table:
        answer = runner.run(command.strip("`"))
        printed = answer.err.replace(f"{runner.place}/", "").splitlines()
        pattern = "moverank: " + ".*".join(map(re.escape, message.strip("`").split("...")))
        if answer.code != int(code) or not any(re.fullmatch(pattern, line) for line in printed):
            wrong.append(f"{command} exits with {answer.code} and prints {printed}")
    assert not wrong, "\n".join(wrong)
