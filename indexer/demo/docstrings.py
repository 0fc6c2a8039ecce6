"""The docstrings of Python's standard library: a corpus of real texts that every machine has."""

import ast
import os
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

from moverank.indexer.documents import Document, Part

LEAST_WORDS = 4
"""Shorter docstrings say no more than the name does."""

# Tests and compiled files; site-packages is no name that can be imported, and so is left out anyway.
_SKIPPED = frozenset({"test", "tests", "idle_test", "__pycache__"})

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_documents(library: Path | None = None) -> Iterator[Document]:
    """Read the docstrings of a library's modules, classes, functions and methods; default: the standard library.

    Nothing is imported: the source files are parsed, in order of their names. The key is the dotted name
    (`urllib.parse.urljoin`), the title how it is written down, the text the docstring, the label the top-level package,
    and the metadata's `kind` one of module, class, function and method. What has several definitions is read once;
    files that are unreadable or invalid are left out. Where Python was installed without its source files, there are
    no documents.
    """
    root = Path(sysconfig.get_path("stdlib")) if library is None else library
    seen: set[str] = set()
    for path in _sources(root):
        for document in _documents(path, _module_name(path.relative_to(root))):
            if document.key not in seen:
                seen.add(document.key)
                yield document


def _sources(root: Path) -> Iterator[Path]:
    """Find the source files that can be imported by name; folders that are left out are not even listed."""
    for folder, inside, files in os.walk(root):
        inside[:] = sorted(name for name in inside if name.isidentifier() and name not in _SKIPPED)
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py") and name[:-3].isidentifier())


def _module_name(inner: Path) -> str:
    parts = inner.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _documents(path: Path, module: str) -> Iterator[Document]:
    """Read one source file."""
    try:
        with tokenize.open(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old code holds escapes that Python warns of
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for name, kind, node in _documented(tree, module, "module"):
        text = cleandoc(ast.get_docstring(node, clean=False) or "")
        if len(text.split()) >= LEAST_WORDS:
            yield Document(name, _title(name, node), (Part(text),), module.partition(".")[0], {"kind": kind})


def _documented(node: ast.AST, name: str, kind: str) -> Iterator[tuple[str, str, _Documented]]:
    """Walk through whatever can have a docstring and a dotted name: what a function holds has none."""
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
    """Write a function with its arguments, a class with its bases, a module with its name."""
    if isinstance(node, ast.Module):
        return f"module {name}"
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return f"class {node.name}({bases})" if bases else f"class {node.name}"
    return f"{node.name}({ast.unparse(node.args)})"
