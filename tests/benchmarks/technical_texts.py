"""A judged set of technical texts: chunks of this system's manual pages and of Python's own library.

The query of a manual page is the description in its section NAME, that of a module the first sentence of its docstring;
both are taken out of the text. Relevant are the chunks of that page or module. Word vectors trained on these texts are
trained on few and technical ones, unlike those of the other sets.
"""

import ast
import gzip
import json
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

CHUNK_WORDS = 120
"""The words of a chunk."""

_FAMILY = 100
"""The most manual pages whose names have the same first word: some programs have thousands, all alike."""

_MANUAL = Path("/usr/share/man")
_ESCAPES = (
    (re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\s[-+]?\d+|\\[&%|^,/:]"), ""),
    (re.compile(r"\\\((?:aq|cq|oq|lq|rq)|\\\*\([lr]q"), "'"),
    (re.compile(r"\\(?:\(em|\(en|\(hy|-)"), "-"),
    (re.compile(r"\\[ ~0]"), " "),
    (re.compile(r"\\(?:\(..|\[[^\]]*\]|.)"), " "),
)
_NAMED = re.compile(r"(?:^|\s)-+\s+(?P<description>.+)", re.DOTALL)
_SECTIONS = (".SH", ".Sh")


def _without_escapes(line: str) -> str:
    """Return a line of a manual page without roff's escapes."""
    for pattern, text in _ESCAPES:
        line = pattern.sub(text, line)
    return line


def _manual_page(source: str) -> tuple[str, str]:
    """Return the description and the other text of a manual page; empty for what is none."""
    named: list[str] = []
    texts: list[str] = []
    section = ""
    for line in source.splitlines():
        macro, _, rest = line.partition(" ")
        if macro in _SECTIONS:
            section = rest.strip(' "').upper()
        elif line.startswith(('.\\"', "'\\\"", "'", ".so", ".if", ".ie", ".el", ".de", ".ds", ".TH", ".Dd", "..")):
            continue
        else:
            text = _without_escapes(rest.replace('"', " ") if line.startswith(".") else line)
            (named if section == "NAME" else texts).append(f"- {text}" if macro == ".Nd" else text)
    found = _NAMED.search(" ".join(named))
    return (" ".join(found["description"].split()) if found else ""), " ".join(" ".join(texts).split())


def _manual_pages() -> Iterator[tuple[str, str, str]]:
    """Yield name, description and text of each manual page in English."""
    families = Counter[str]()
    for path in sorted(_MANUAL.glob("man[1-8]/*.gz")):
        family = re.split("[-_.]", path.name)[0]
        families[family] += 1
        if not path.is_symlink() and families[family] <= _FAMILY:
            text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
            yield path.stem, *_manual_page(text)


def _modules() -> Iterator[tuple[str, str, str]]:
    """Yield name, first sentence and remaining source of each module of Python's library."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        name = path.relative_to(library).as_posix()
        if name.startswith(("site-packages/", "test/", "lib2to3/tests/", "idlelib/idle_test/")):
            continue
        source = path.read_text("utf-8", "replace")
        try:
            documented = ast.get_docstring(ast.parse(source), clean=False)
        except (SyntaxError, ValueError):
            continue
        if documented:
            first, rest = " ".join(documented.strip().split("\n\n")[0].split()), source.replace(documented, "", 1)
            yield name, first, " ".join(rest.split())


def _chunks(text: str) -> list[str]:
    """Return a text in chunks; a last one of less than half their length is left out."""
    words = text.split()
    starts = range(0, len(words), CHUNK_WORDS)
    return [" ".join(words[i : i + CHUNK_WORDS]) for i in starts if len(words) - i >= CHUNK_WORDS // 2]


def technical_texts(folder: Path, *, documents: int = 50_000, queries: int = 400) -> Path:
    """Return `folder`, with `docs.jsonl.gz`, `queries.jsonl` and `qrels.tsv`, written unless they are there.

    It has about so many `documents`, of pages and modules drawn at random, and so many judged `queries`.
    """
    if (folder / "qrels.tsv").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    sources = [*_manual_pages(), *_modules()]
    random.Random(0).shuffle(sources)  # noqa: S311 - a sample
    judged: list[tuple[str, str, Sequence[str]]] = []
    seen: set[str] = set()
    count = 0
    with gzip.open(folder / "docs.jsonl.gz", "wt", encoding="utf-8") as file:
        for name, query, text in sources:
            chunks = _chunks(text)
            if count >= documents or not chunks or text in seen:
                continue
            seen.add(text)
            keys = [f"{name}#{i}" for i in range(len(chunks))]
            file.writelines(json.dumps({"id": k, "text": t}) + "\n" for k, t in zip(keys, chunks, strict=True))
            count += len(chunks)
            if len(judged) < queries and len(query.split()) >= 4 and query not in seen:
                seen.add(query)
                judged.append((name, query, keys))
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": name, "text": query}) + "\n" for name, query, _ in judged)
    lines = (f"{name}\t0\t{key}\t1\n" for name, _, keys in judged for key in keys)
    (folder / "qrels.tsv").write_text("".join(lines), "utf-8")
    return folder
