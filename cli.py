"""The command line: the Typer app and its entry points. The commands are in `moverank.indexer.commands`."""

import gc
import logging
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import Annotated

import typer

from moverank.indexer.commands.failures import (
    FAILED,
    INTERRUPTED,
    NotesHandler,
    ReaderGone,
    error_report,
    open_standard_streams,
)
from moverank.indexer.commands.lazy_commands import LazyGroup
from moverank.indexer.commands.shared_options import with_wait_limit

app = typer.Typer(
    name="moverank",
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds texts that mean the same even if they share no word, and proves that it missed no nearer text.\n\n"
    'Start with `moverank demo`, or `moverank index FOLDER` and `moverank search "your words"`.',
)


_NOTES = NotesHandler()

_NAMED_WITH_THE_VERSION = {"FAISS": "faiss-cpu", "POT": "pot", "numpy": "numpy", "numba": "numba"}
"""The dependencies that decide on results and speed, and the names of their packages."""


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        others = (f"{name} {_installed_version(package)}" for name, package in _NAMED_WITH_THE_VERSION.items())
        typer.echo(f"moverank {version('moverank')}")
        typer.echo(", ".join((f"Python {sys.version.split()[0]}", *others)))
        raise typer.Exit


def _installed_version(package: str) -> str:
    """Return what the metadata of a package say, without its import; builds of FAISS for GPUs have other names."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _set_cache(directory: str | None) -> None:
    if directory is not None:
        from moverank.indexer.files.location import CACHE

        os.environ[CACHE] = directory  # also for processes that this one starts


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the versions of moverank, Python and the main dependencies.",
            is_eager=True,
            callback=_print_version,
        ),
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Directory for derived files of collections in databases. [default: $MOVERANK_CACHE or the user's]",
            is_eager=True,
            callback=_set_cache,
        ),
    ] = None,
) -> None:
    """Declare the options of the program itself."""


def _terminate(number: int, _frame: object) -> None:
    """Clean up at SIGTERM as at Ctrl-C; ignore a second SIGTERM, which `timeout` sends at once."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run() -> None:
    """Run the program and exit at once: an orderly shutdown of all imported libraries takes half a second."""
    open_standard_streams()
    gc.set_threshold(300_000)  # a garbage collection during imports takes an eighth of a search and frees nothing
    signal.signal(signal.SIGTERM, _terminate)
    code: object = 0
    try:
        main()
    except SystemExit as exit_:
        code = exit_.code
    if "concurrent.futures.process" in sys.modules:
        gc.collect()  # an interrupted process pool is in a reference cycle; collecting it releases its semaphores
    with suppress(OSError, ReaderGone):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def main() -> None:
    """Run the program; a failure prints one sentence on standard error, with exit code 1, or 2 for wrong usage."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escape what the terminal's encoding lacks
    logging.getLogger("moverank").addHandler(_NOTES)
    try:
        code = app(with_wait_limit(sys.argv[1:]), standalone_mode=False)
    except Exception as error:
        failure = error_report(error)
        if failure is None:
            raise
        code = failure.printed()
    if code == INTERRUPTED:
        # Not `note`: the interrupted import of a module may have left it half-initialised.
        typer.echo("moverank: interrupted", err=True)
        code = FAILED
    sys.exit(code)
