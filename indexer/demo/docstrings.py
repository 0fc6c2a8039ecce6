"""The docstrings of Python's standard library: a corpus of real texts that needs no download."""

import ast
import os
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

from moverank.indexer.values.documents import Document, Part

LEAST_WORDS = 4
"""Minimum number of words in a docstring: shorter ones add little to the name."""

# Tests and compiled files. `site-packages` is also skipped, since it is not an identifier.
_SKIPPED = frozenset({"test", "tests", "idle_test", "__pycache__"})

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_documents(library: Path | None = None) -> Iterator[Document]:
    """Read the docstrings of a library's modules, classes, functions and methods; default: the standard library.

    The source files are parsed in the order of their names, not imported. The key is the dotted name
    (`urllib.parse.urljoin`), the title the signature, which is only shown, the text the docstring, the label the
    top-level package, and the metadata's `kind` one of module, class, function and method. Only the first definition of
    a name is read; unreadable and invalid files are skipped. If Python was installed without its source files, there
    are no documents.
    """
    root = Path(sysconfig.get_path("stdlib")) if library is None else library
    seen: set[str] = set()
    for path in _sources(root):
        for document in _documents(path, _module_name(path.relative_to(root))):
            if document.key not in seen:
                seen.add(document.key)
                yield document


def _sources(root: Path) -> Iterator[Path]:
    """Yield the source files that can be imported by name, except in skipped directories."""
    for directory, subdirectories, files in os.walk(root):
        subdirectories[:] = sorted(name for name in subdirectories if name.isidentifier() and name not in _SKIPPED)
        yield from (
            Path(directory, name) for name in sorted(files) if name.endswith(".py") and name[:-3].isidentifier()
        )


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _documents(path: Path, module: str) -> Iterator[Document]:
    """Parse one source file."""
    try:
        with tokenize.open(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences of old code
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for name, kind, node in _documented(tree, module, "module"):
        text = cleandoc(ast.get_docstring(node, clean=False) or "")
        text = text.replace("\0", r"\0")  # an escape sequence by mistake, as in `base64` of Python 3.14
        if len(text.split()) >= LEAST_WORDS:
            label = module.partition(".")[0]
            yield Document(name, _title(name, node), (Part(text),), label, {"kind": kind}, title_counts=False)


def _documented(node: ast.AST, name: str, kind: str) -> Iterator[tuple[str, str, _Documented]]:
    """Yield name, kind and node of all definitions outside of functions: others have no dotted name."""
    if isinstance(node, _Documented):
        yield name, kind, node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _documented(child, f"{name}.{child.name}", "class")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{name}.{child.name}", "method" if kind == "class" else "function", child
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _documented(child, name, kind)


def _title(name: str, node: _Documented) -> str:
    """Return a function with its parameters, a class with its bases, a module with its name."""
    if isinstance(node, ast.Module):
        return f"module {name}"
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    return f"{node.name}({ast.unparse(node.args)})"
