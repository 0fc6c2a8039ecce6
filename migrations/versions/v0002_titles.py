"""Titles as rows of their own: parts have the user's original text, and the words of a title are counted separately.

Schema 0001 joined the title to the text of the first part, repeated as often as the collection's title weight. Now a
title whose words count is a row of `parts` with position -1 and rank -1, and the first part has the counts of the rest.
The tables do not change. Except for the tokenizer, the functions needed are copied here, as of this schema.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from moverank.rerank.words.tokenizer import Tokenizer

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TITLE = -1
_BATCH = 1000

_SETTINGS = sa.table("settings", sa.column("name", sa.String), sa.column("value", sa.JSON))
_WORDS = sa.table("words", sa.column("id", sa.Integer), sa.column("word", sa.String))
_DOCUMENTS = sa.table(
    "documents",
    *(sa.column(name, kind) for name, kind in (("id", sa.Integer), ("title", sa.String), ("label", sa.String))),
    *(sa.column(name, kind) for name, kind in (("metadata", sa.JSON), ("digest", sa.LargeBinary))),
)
_PARTS = sa.table(
    "parts",
    *(sa.column(name, sa.Integer) for name in ("id", "document_id", "position", "rank")),
    sa.column("text", sa.String),
    *(sa.column(name, sa.LargeBinary) for name in ("digest", "words", "counts")),
)


def upgrade() -> None:
    """Cut titles off the first parts, and store them as rows of their own."""
    connection = op.get_bind()
    settings = _settings(connection)
    tokenizer = Tokenizer(frozenset(settings.get("stop_words", ())), *_tokenizer(settings))
    ids = _word_ids(connection)
    repeats = int(settings.get("title_weight", 1)) - 1
    for document, parts in _documents(connection):
        first = parts[0]
        joined = f"{document.title}\n" * repeats
        text = first.text[len(joined) :] if repeats and first.text.startswith(joined) else first.text
        rest = _rest(text, document.title) if first.rank == 0 else None
        if rest is None:
            digests = [part.digest for part in parts]
            _write_digest(connection, settings, document, [part.rank for part in parts], digests, [False])
            continue
        title, body = tokenizer.count(document.title), tokenizer.count(rest)
        if not (title.keys() | body.keys()) <= ids.keys():
            continue  # damaged: `moverank check` reports it
        changed = {"text": text, "digest": _digest(text.encode()), **_packed(body, ids)}
        _update(connection, first.id, changed)
        row = {"document_id": document.id, "position": -1, "rank": _TITLE, "text": document.title}
        row |= {"digest": _digest(document.title.encode()), **_packed(title, ids)}
        connection.execute(sa.insert(_PARTS).values(**row))
        digests = [changed["digest"], *(part.digest for part in parts[1:])]
        _write_digest(connection, settings, document, [part.rank for part in parts], digests)


def downgrade() -> None:
    """Join titles to the first parts again, repeated as often as the title weight."""
    connection = op.get_bind()
    settings = _settings(connection)
    weight = int(settings.get("title_weight", 1))
    for document, parts in _documents(connection):
        title = parts[0] if parts[0].rank == _TITLE else None
        own = parts[1:] if title else parts
        if title is None:
            digests = [part.digest for part in own]
            _write_digest(connection, settings, document, [part.rank for part in own], digests)
            continue
        text = own[0].text if own else ""
        begins = _rest(text, document.title) is not None
        joined = "\n".join([document.title] * (weight - begins) + ([text] if text else []))
        counts = _unpacked(own[0]) if own else Counter[int]()
        for word, count in _unpacked(title).items():
            counts[word] += weight * count
        changed = {"text": joined, "digest": _digest(joined.encode()), **_packed(counts)}
        if own:
            _update(connection, own[0].id, changed)
            connection.execute(sa.delete(_PARTS).where(_PARTS.c.id == title.id))
        else:
            _update(connection, title.id, changed | {"position": 0, "rank": 0})
        digests = [changed["digest"], *(part.digest for part in own[1:])]
        _write_digest(connection, settings, document, [part.rank for part in own] or [0], digests)


def _settings(connection: sa.Connection) -> dict[str, Any]:
    return dict(map(tuple, connection.execute(sa.select(_SETTINGS.c.name, _SETTINGS.c.value))))


def _word_ids(connection: sa.Connection) -> dict[str, int]:
    return dict(map(tuple, connection.execute(sa.select(_WORDS.c.word, _WORDS.c.id))))


def _documents(connection: sa.Connection) -> Iterator[tuple[Any, list[Any]]]:
    """Iterate over documents with a title and a part, and their rows of `parts` in order; batches limit memory."""
    last = 0
    while True:
        chosen = sa.select(_DOCUMENTS).where(_DOCUMENTS.c.id > last, _DOCUMENTS.c.title != "")
        documents = connection.execute(chosen.order_by(_DOCUMENTS.c.id).limit(_BATCH)).all()
        if not documents:
            return
        within = _PARTS.c.document_id.in_([document.id for document in documents])
        parts: dict[int, list[Any]] = {}
        order = (_PARTS.c.document_id, _PARTS.c.position)
        for part in connection.execute(sa.select(_PARTS).where(within).order_by(*order)):
            parts.setdefault(part.document_id, []).append(part)
        for document in documents:
            if document.id in parts:
                yield document, parts[document.id]
        last = documents[-1].id


def _update(connection: sa.Connection, id_: int, values: Mapping[str, Any]) -> None:
    connection.execute(sa.update(_PARTS).where(_PARTS.c.id == id_).values(**values))


def _write_digest(
    connection: sa.Connection,
    settings: Mapping[str, Any],
    document: Any,
    ranks: Sequence[int],
    digests: Sequence[bytes],
    flags: Sequence[bool] = (),
) -> None:
    """Write the digest of a document; an empty one, which marks a damaged text, stays empty."""
    if document.digest:
        salt = _digest(_words_by(settings).encode())
        content = json.dumps([document.title, document.label, document.metadata, [*ranks], *flags], sort_keys=True)
        digest = _digest(salt + content.encode() + b"".join(digests))
        connection.execute(sa.update(_DOCUMENTS).where(_DOCUMENTS.c.id == document.id).values(digest=digest))


def _rest(text: str, title: str) -> str | None:
    """Return the text after the title at its beginning, white space folded; None if it begins otherwise."""
    text, title = " ".join(text.split()), " ".join(title.split())
    ends = not text[len(title) : len(title) + 1].isalnum()
    return text[len(title) :] if ends and text[: len(title)].casefold() == title.casefold() else None


def _tokenizer(settings: Mapping[str, Any]) -> tuple[str, int, str, str]:
    """Return the language, version, segmentation and vocabulary that a later version of the package may have stored."""
    language, version = settings.get("language", "en"), int(settings.get("tokenizer_version", 1))
    return language, version, settings.get("segmentation", "none"), settings.get("vocabulary") or ""


def _words_by(settings: Mapping[str, Any]) -> str:
    """Return the settings that determine the words of a text, as `Settings.tokens_digest` joins them."""
    choices, (language, version, *ways) = "\0".join(settings.get("stop_words", ())), _tokenizer(settings)
    return choices if version == 1 else f"{choices}\0\0{version} {language} {' '.join(filter(None, ways))}"


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _packed(counts: Mapping[Any, int], ids: Mapping[str, int] | None = None) -> dict[str, bytes]:
    """Return the columns `words` and `counts`, int32, ids increasing; keys of `counts` are words if `ids` are given."""
    rows = sorted(((ids[word] if ids else word), count) for word, count in counts.items())
    entries = np.array(rows, "<i4").reshape(-1, 2)
    return {"words": entries[:, 0].tobytes(), "counts": entries[:, 1].tobytes()}


def _unpacked(part: Any) -> Counter[int]:
    words, counts = np.frombuffer(part.words, "<i4").tolist(), np.frombuffer(part.counts, "<i4").tolist()
    return Counter(dict(zip(words, counts, strict=True)))
