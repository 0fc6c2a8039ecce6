import inspect
import textwrap
import urllib.parse
from pathlib import Path

import pytest

from moverank.indexer.demo.docstrings import docstring_documents

SOURCE = '''
"""A module about this and that."""
try:
    import fast
except ImportError:
    def helper(a, *, b: int = 1):
        """Help slowly, as a stand-in."""
        def inner():
            """Nobody can name this one."""
else:
    def helper():
        """Help a second time round."""

class Box(dict[str, int], metaclass=type):
    """
    Holds things
        in order.
    """

    async def open(self):
        r"""Open it \\d times, please."""

    class Lid:
        """The lid of a box."""

    def short(self):
        """Too short here."""

def count():
    """Count up to \\d or \\0, or so."""
'''


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for folder in ("box/test", "box-1", "site-packages", "box/__pycache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "left_out.py").write_text('"""This file is skipped."""\n')
    (tmp_path / "box/__init__.py").write_text(SOURCE)
    (tmp_path / "box/side.py").write_text('# coding: latin-1\n"""A café beside the box."""\n', "latin-1")
    (tmp_path / "box/two words.py").write_text('"""No name to import it by."""\n')
    (tmp_path / "box/broken.py").write_text('"""A module that is broken."""\ndef\n')
    (tmp_path / "box/bytes.py").write_bytes(b'"""A module of \xff bytes."""\n')
    (tmp_path / "box/coded.py").write_text('# coding: klingon\n"""In a code unheard of."""\n')
    (tmp_path / "box/zero.py").write_bytes(b'"""A module with a zero."""\n\0\n')
    return tmp_path


def test_docstrings_are_read_from_source_files(library: Path) -> None:
    documents = [(d.key, d.title, d.parts[0].text, d.label, d.metadata["kind"]) for d in docstring_documents(library)]
    assert documents == [
        ("box", "module box", "A module about this and that.", "box", "module"),
        ("box.helper", "helper(a, *, b: int=1)", "Help slowly, as a stand-in.", "box", "function"),
        ("box.Box", "class Box(dict[str, int])", "Holds things\n    in order.", "box", "class"),
        ("box.Box.open", "open(self)", "Open it \\d times, please.", "box", "method"),
        ("box.Box.Lid", "class Lid", "The lid of a box.", "box", "class"),
        ("box.count", "count()", "Count up to \\d or \\0, or so.", "box", "function"),
        ("box.side", "module box.side", "A café beside the box.", "box", "module"),
    ]


def test_a_library_without_sources_has_no_documents(tmp_path: Path) -> None:
    (tmp_path / "python.zip").write_bytes(b"")
    assert list(docstring_documents(tmp_path)) == []
    assert list(docstring_documents(tmp_path / "python.zip")) == []
    assert list(docstring_documents(tmp_path / "absent")) == []


@pytest.mark.slow
def test_the_standard_library_has_thousands_of_docstrings() -> None:
    docstrings = list(docstring_documents())
    if not docstrings:
        pytest.skip("this Python was installed without the sources of its library")
    by_key = {document.key: document for document in docstrings}
    assert len(by_key) == len(docstrings) > 5000
    assert {document.metadata["kind"] for document in docstrings} == {"module", "class", "function", "method"}
    named: dict[str, object] = {
        "textwrap": textwrap,
        "textwrap.wrap": textwrap.wrap,
        "textwrap.TextWrapper": textwrap.TextWrapper,
        "textwrap.TextWrapper.fill": textwrap.TextWrapper.fill,
        "urllib.parse.urljoin": urllib.parse.urljoin,
    }
    for key, value in named.items():
        assert by_key[key].parts[0].text == inspect.cleandoc(value.__doc__ or "")
    assert by_key["urllib.parse.urljoin"].label == "urllib"
    assert not [key for key in by_key if key.startswith(("test.", "site_packages", "idlelib.idle_test"))]
