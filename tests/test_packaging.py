"""The wheel holds all of the package and nothing else, and works in an environment without the checkout.

The sdist holds what is committed: the same wheel is built of it, and its tests run.
"""

import os
import shutil
import stat
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.metadata import Metadata

from moverank import Collection
from moverank.indexer.demo.examples import DOCSTRING_QUERIES, Example
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.golden.unpacking import unpack

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
FOLDERS = ("rerank", "indexer", "migrations")
SHIPPED = (
    "*.py",
    "indexer/demo/*.jsonl",
    "indexer/formatters/style.css",
    "indexer/manual/*.md",
    "indexer/plugins/serving/deploy/Dockerfile",
    "indexer/plugins/serving/deploy/compose.yaml",
    "indexer/plugins/serving/deploy/moverank.service",
    "indexer/plugins/serving/pages/static/*",
    "indexer/plugins/serving/pages/templates/*.html",
    "migrations/*.mako",
    "rerank/words/limits/*.txt",
    "rerank/words/*.txt",
    "rerank/words/stop_words/*.txt",
)
SECRETS = ("indexer/plugins/serving/deploy/tokens", "indexer/plugins/serving/deploy/.env")
"""Files of those who follow the manual's page `deploy` in a checkout, which no wheel must hold."""
FOREIGN_MODULE = "raise ImportError('a module of the user was imported instead')\n"


def run(*command: str | Path, cwd: Path, variables: dict[str, str] | None = None) -> str:
    """Run a command, which must succeed, without this interpreter's settings; return its standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    completed = subprocess.run(
        command, cwd=cwd, env=environment | (variables or {}), capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the checkout, which stays clean."""
    directory = tmp_path_factory.mktemp("build")
    source = directory / "source"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (".src", *FOLDERS):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    for name in ("cli.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for name in SECRETS:
        (source / name).write_text("secret\n")
    metadata = source / ".src" / "moverank.egg-info"
    metadata.mkdir(exist_ok=True)  # as an older build left it: setuptools takes all files of its list
    (metadata / "SOURCES.txt").write_text("".join(f"{name}\n.src/moverank/{name}\n" for name in SECRETS))
    return _wheel_of(source, directory)


def _wheel_of(source: Path, directory: Path) -> Path:
    """Build a wheel with the tools that are installed, in `directory`."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", directory / "dist", source, cwd=directory)
    (built,) = (directory / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Commit a copy of the checkout, which .gitignore keeps clean."""
    if shutil.which("git") is None:
        pytest.skip("needs git: the sdist holds what is committed")
    copy = tmp_path_factory.mktemp("committed") / "checkout"
    ignored = shutil.ignore_patterns(".git", "__pycache__", "*.egg-info", "PKG-INFO", "setup.cfg")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    for name in SECRETS:
        (copy / name).write_text("secret\n")
    run("git", "init", "--quiet", cwd=copy)
    run("git", "add", "--all", cwd=copy)
    author = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
    run("git", *author, "commit", "--quiet", "--message=all", cwd=copy)
    return copy


@pytest.fixture(scope="module")
def sdist(committed: Path) -> Path:
    """Build the sdist of the commit."""
    run(sys.executable, "-c", "from setuptools import build_meta as b; b.build_sdist('dist')", cwd=committed)
    (built,) = (committed / "dist").glob("*.tar.gz")
    return built


@pytest.fixture
def unpacked(sdist: Path, tmp_path: Path) -> Path:
    """Unpack the sdist: return its directory."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / sdist.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new virtual environment, which takes the dependencies from this interpreter's packages.

    A .pth file appends their directories to the import path. Python does not process .pth files in these directories,
    so an editable install of the checkout is not imported; a regular install comes after the wheel.
    """
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory, symlinks=True)
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (_site_packages(directory) / "dependencies.pth").write_text("".join(f"{path}\n" for path in packages))
    pip = (sys.executable, "-m", "pip", "--python", directory / "bin" / "python", "install", "--quiet")
    run(*pip, "--disable-pip-version-check", "--no-index", "--no-deps", wheel, cwd=directory)
    _reuse_compiled_kernels(_site_packages(directory) / "moverank" / "rerank" / "kernels")
    return directory


def _reuse_compiled_kernels(installed: Path) -> None:
    """Copy numba's cache of the checkout and the file times that validate it: compiling would take ten seconds."""
    source = ROOT / "rerank" / "kernels"
    for path in source.glob("*.py"):
        shutil.copystat(path, installed / path.name)
    for path in source.glob("__pycache__/*.nb[ci]"):
        (installed / "__pycache__").mkdir(exist_ok=True)
        shutil.copy(path, installed / "__pycache__")


@pytest.fixture
def foreign_modules(tmp_path: Path) -> Path:
    """Return a directory with modules of a user that have the names of the folders in the checkout."""
    directory = tmp_path / "project"
    for name in FOLDERS:
        (directory / name).mkdir(parents=True)
        (directory / name / "__init__.py").write_text(FOREIGN_MODULE)
    (directory / "cli.py").write_text(FOREIGN_MODULE)
    return directory


def _site_packages(environment: Path) -> Path:
    (directory,) = environment.glob("lib/python*/site-packages")
    return directory


def test_the_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    own = ("__init__.py", "__main__.py", "lazy_names.py", "py.typed", "testing.py", "cli.py")
    expected = {f"moverank/{name}" for name in own}
    for folder in FOLDERS:
        files = {path for path in (ROOT / folder).rglob("*") if path.is_file()}
        paths = {path.relative_to(ROOT) for path in files}
        expected |= {f"moverank/{path}" for path in paths if any(path.match(pattern) for pattern in SHIPPED)}
    with zipfile.ZipFile(wheel) as archive:
        members = [member for member in archive.infolist() if ".dist-info/" not in member.filename]
    assert {member.filename for member in members} == expected
    assert not {f"moverank/{name}" for name in SECRETS} & expected
    assert all(stat.S_ISREG(member.external_attr >> 16) for member in members)
    for pattern in SHIPPED:
        assert any(Path(name).match(f"moverank/{pattern}") or Path(name).match(pattern) for name in expected)


def test_the_metadata_are_valid(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(archive.read(name), validate=True)
        assert f"{name.partition('/')[0]}/licenses/LICENSE" in archive.namelist()
    assert (metadata.name, str(metadata.version)) == ("moverank", version("moverank"))
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_sdist_holds_what_is_committed_as_regular_files(sdist: Path, committed: Path) -> None:
    tracked = set(run("git", "ls-files", "-z", cwd=committed).split("\0")[:-1])
    links = {name for name in tracked if (committed / name).is_dir()}
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isreg() or member.isdir() for member in members)
    found = {member.name.partition("/")[2] for member in members if member.isreg()}
    generated = {name for name in found if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    packaged = {name for name in found if any(name.startswith(f"{link}/") for link in links)}
    assert found - generated - packaged == tracked - links
    assert not {*SECRETS} & found


def test_the_wheel_of_the_sdist_is_that_of_the_checkout(unpacked: Path, wheel: Path, tmp_path: Path) -> None:
    assert _contents(_wheel_of(unpacked, tmp_path)) == _contents(wheel)


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_tests_of_the_sdist_run(unpacked: Path) -> None:
    """Those of README read all kinds of files of the checkout."""
    tests = ("tests/test_cli.py", "tests/contracts/test_readme.py")
    command = (sys.executable, "-m", "pytest", "-n", "0", "-q", *tests)
    assert " passed" in run(*command, cwd=unpacked, variables={"PYTHONPATH": str(unpacked / ".src")})


def test_only_the_package_is_installed(environment: Path) -> None:
    installed = {path.name for path in _site_packages(environment).iterdir()}
    assert installed == {"dependencies.pth", "moverank", f"moverank-{version('moverank')}.dist-info"}


def test_the_wheel_is_imported_and_not_the_checkout(environment: Path, tmp_path: Path) -> None:
    program = (
        "import sys, moverank, moverank.cli, moverank.migrations\n"
        "from moverank import Collection, Reranker\n"
        "print(*(module.__file__ for name, module in sys.modules.items() if name.startswith('moverank')), sep='\\n')\n"
        "print('|'.join(sys.path))\n"
    )
    *files, paths = run(environment / "bin" / "python", "-I", "-c", program, cwd=tmp_path).splitlines()
    package = _site_packages(environment) / "moverank"
    assert len(files) > 10
    assert all(Path(file).resolve().is_relative_to(package.resolve()) for file in files)
    assert not any(Path(path).resolve() in (ROOT, ROOT / ".src") for path in paths.split("|"))


def test_command_and_module_print_the_version(environment: Path, tmp_path: Path) -> None:
    first, second = run(environment / "bin" / "moverank", "--version", cwd=tmp_path).splitlines()
    assert first == f"moverank {version('moverank')}"
    assert f", numba {version('numba')}" in second
    assert run(environment / "bin" / "python", "-m", "moverank", "--version", cwd=tmp_path).startswith(f"{first}\n")


def test_the_manual_is_installed(environment: Path, tmp_path: Path) -> None:
    topics = run(environment / "bin" / "moverank", "help", cwd=tmp_path)
    assert all(page.stem in topics for page in (ROOT / "indexer" / "manual").glob("*.md"))
    page = run(environment / "bin" / "moverank", "help", "search", cwd=tmp_path)
    assert len(page.splitlines()) > 10


@pytest.fixture(scope="module")
def demo(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo once: return its directory, and its output."""
    directory = tmp_path_factory.mktemp("demo") / "demo"
    command = (environment / "bin" / "moverank", "demo", "--directory", directory)
    return directory, run(*command, cwd=directory.parent)


@pytest.fixture(scope="module")
def docstrings(demo: tuple[Path, str]) -> Iterator[Collection]:
    """Open the demo's collection of the docstrings of the standard library."""
    directory, _ = demo
    with Collection.open(directory / "docstrings.index") as collection:
        yield collection


def test_the_demo_runs(demo: tuple[Path, str]) -> None:
    _, output = demo
    assert output.count("$ moverank ") >= 6
    assert "Certified" in output


@pytest.mark.parametrize("example", DOCSTRING_QUERIES)
def test_docstring_queries_have_the_expected_hits(example: Example, docstrings: Collection) -> None:
    hits = docstrings.search(example.text, k=3, rank=example.rank).hits
    assert set(example.expected) <= {hit.key for hit in hits}


@pytest.mark.parametrize("example", [DOCSTRING_QUERIES[0], DOCSTRING_QUERIES[2]])
def test_the_best_docstring_shares_no_word_with_the_query(example: Example, docstrings: Collection) -> None:
    tokenizer = Tokenizer(stop_words())
    best = docstrings.search(example.text, k=1, rank=example.rank).hits[0].key
    assert best in example.expected
    document = docstrings.get(best)
    assert document
    words = {word for part in document.parts for word in tokenizer.words(part.text)}
    assert words
    assert not words & set(tokenizer.words(example.text))


def test_modules_of_the_user_do_no_harm(environment: Path, foreign_modules: Path) -> None:
    """Upgrading a collection reads the migrations, too."""
    python, command = environment / "bin" / "python", environment / "bin" / "moverank"
    shadowed = {"PYTHONPATH": str(foreign_modules)}
    unpack(ROOT / "tests" / "golden" / "collection-0.2.0.tar.xz", foreign_modules)
    assert run(command, "--version", cwd=foreign_modules, variables=shadowed).startswith("moverank ")
    hits = run(command, "search", "ant bee cat", "-i", "golden", "--json", cwd=foreign_modules, variables=shadowed)
    assert '"key"' in hits
    program = "import moverank; print(moverank.Collection.open('golden').info()['documents'])"
    assert run(python, "-c", program, cwd=foreign_modules, variables=shadowed) == "29\n"
    assert run(python, "-m", "moverank", "--version", cwd=foreign_modules).startswith("moverank ")
