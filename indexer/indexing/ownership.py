"""Which source holds each stored document, and whether a run may write over it."""

import logging
import shlex
from typing import NamedTuple

from moverank.indexer.errors import CollectionError
from moverank.indexer.store import Reader, StoredState, Writer
from moverank.indexer.values.documents import STREAM, Document, NamedSource, Origin, Rejection, key_fault
from moverank.indexer.values.scope import Scope

_log = logging.getLogger("moverank")


class Place(NamedTuple):
    """The columns `source` (an id) and `file` of a document, both None if they are unknown."""

    source: int | None
    file: str | None


_UNKNOWN = Place(None, None)


class Ownership:
    """The stored sources, and the scope of one run.

    A run may replace, and take over, documents within its `scope`, documents whose source is unknown, and documents
    read from the same file before, unless they came from a stream without a name. A document without an origin may
    replace any document, which keeps its source.
    """

    def __init__(self, reader: Reader, scope: Scope) -> None:
        self.scope = scope
        self.sources: dict[int, NamedSource] = {}
        for stored in reader.sources():
            if stored.id is not None and stored.source is not None:
                self.sources[stored.id] = stored.source
        self._ids = {source.place: id_ for id_, source in self.sources.items()}
        self._explained: set[tuple[str, str]] = set()

    def place(self, writer: Writer, document: Document, before: StoredState | None) -> Place:
        """Return the place of a document, whose source is stored if it is new."""
        origin = document.origin
        if origin is None or not self._may_take(origin, before):
            return _UNKNOWN if before is None else Place(before.source, before.file)
        return Place(self._id_of(writer, origin.source), origin.file)

    def _id_of(self, writer: Writer, source: NamedSource) -> int:
        id_ = self._ids.get(source.place)
        if id_ is None or self.sources[id_] != source:
            id_ = writer.store_source(source)
            self._ids[source.place], self.sources[id_] = id_, source
        return id_

    def _may_take(self, origin: Origin, before: StoredState | None) -> bool:
        if before is None or before.source is None:
            return True
        holder = self.sources.get(before.source)
        if holder is None:  # the row of the source is lost, so it is unknown
            return True
        if holder.place == origin.source.place != STREAM and before.file == origin.file:
            return True
        return self.scope.covers(holder.path_of(before.file or ""))

    def refusal(self, document: Document, before: StoredState | None) -> Rejection | None:
        """Return why a document must not replace `before`, the stored one with its key; None if it may.

        Two forums may have thousands of keys in common, so the remedy is given once for each pair of sources.
        """
        origin = document.origin
        if origin is None or before is None or before.source is None or self._may_take(origin, before):
            return None
        holder, file = self.sources[before.source], before.file or ""
        reason = f"the key {document.key!r} is held by {_described(holder, file)}"
        remedy = "--prefix NAME puts NAME/ in front of the keys of this source"
        if holder.place == origin.source.place == STREAM:
            reason, remedy = f"{reason}, with another text", f"{remedy}, --replaces - updates the earlier one"
        else:
            remedy += f"; if that was moved here, give --replaces {shlex.quote(holder.place)}"
        if (holder.place, origin.source.place) not in self._explained:
            self._explained.add((holder.place, origin.source.place))
            reason = f"{reason}: {remedy}"
        return Rejection(origin.source.name_of(origin.file), origin.line, reason, document.key, origin)

    def rename(self, writer: Writer, *, dry_run: bool) -> int:
        """Write the keys of the sources that get another prefix, and return their number.

        Raises CollectionError if one of the new keys is taken. `dry_run`: the caller rolls the changes back.
        """
        renamed = 0
        for source in self.scope.renamed:
            id_ = self._ids[source.place]
            old = self.sources[id_]
            shown = writer.shown([document for document, _ in writer.files_of_source(id_)])
            keys = {of: source.prefixed(fields.key.removeprefix(old.prefixed(""))) for of, fields in shown.items()}
            fault = next(filter(None, map(key_fault, keys.values())), None)
            if fault is not None:
                raise CollectionError(f"nothing was changed: with the prefix, {fault}")
            taken = next(iter(writer.known(list(keys.values()))), None)
            if taken is not None:
                raise CollectionError(f"nothing was changed: the key {taken!r} is taken: choose another --prefix")
            writer.set_keys([{"id": of, "key": key} for of, key in keys.items()])
            self._id_of(writer, source)
            renamed += len(keys)
            verb = "would get" if dry_run else "got"
            _log.warning(
                "the keys of %s documents of %s %s the prefix %r", f"{len(keys):,}", source.name, verb, source.prefix
            )
        return renamed


def _described(holder: NamedSource, file: str) -> str:
    if holder.place.startswith(STREAM):
        return f"an earlier run from standard input{f' (--prefix {holder.prefix})' if holder.prefix else ''}"
    return holder.name_of(file)
