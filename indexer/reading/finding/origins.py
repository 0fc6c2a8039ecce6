"""The origin of every file that is read: the source that it belongs to, and its path within that source."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from moverank.indexer.errors import UsageError
from moverank.indexer.reading.finding.files import MAILDIR, Source
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.values.documents import (
    STREAM,
    Document,
    Metadata,
    NamedSource,
    Origin,
    Value,
    name_fault,
    text_fault,
)
from moverank.indexer.values.scope import UNKNOWN_SOURCE, Region, Scope, as_text, listed_place, place_of, upwards


class Origins:
    """Assigns the files of a run to sources: to the innermost known source that holds them, else to the path named.

    `known`: the sources of the collection. `prefix`: the prefix of the named sources; None: the prefix that they have.
    `metadata`: fields of every record, which replace its own fields of the same names; `label` is its label.
    `replaces`: a source, gone or not, whose documents belong to the named source from now on. `whole`: standard input
    holds everything that it held in earlier runs; otherwise each run's input is another source, unless it has a prefix.
    Raises UsageError for a prefix of a part of a known source, and for an unknown source to replace.
    """

    def __init__(
        self,
        paths: Sequence[str],
        known: Iterable[NamedSource] = (),
        *,
        prefix: str | None = None,
        replaces: str | None = None,
        whole: bool = False,
        metadata: Metadata | None = None,
    ) -> None:
        self._metadata = dict(metadata or {})
        self._sources = {source.place: source for source in known}
        self._stream = NamedSource(f"{STREAM}:{prefix}" if prefix else STREAM, STREAM, prefix or "")
        self._places: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._met: set[str] = set()
        old = self._replaced(replaces)
        self._regions: list[Region] = (
            [] if replaces in (None, UNKNOWN_SOURCE) else [Region(listed_place(str(replaces)))]
        )
        self._renamed: list[NamedSource] = []
        for path in paths:
            spelled, region = Region.of(path)
            self._places[path] = region.place
            if region.place == STREAM:
                self._regions += [Region(self._stream.place)] * (whole or bool(prefix))
            else:
                self._regions.append(region)
                self._name(region.place, spelled, prefix, old if len(paths) == 1 else None)
        self.scope = Scope(self._regions, unknown=replaces == UNKNOWN_SOURCE, renamed=self._renamed)

    def _replaced(self, replaces: str | None) -> NamedSource | None:
        """Return the source to replace, or the part of a source, as a source; None if the name is unknown."""
        if replaces is None or replaces == UNKNOWN_SOURCE:
            return None
        place = listed_place(replaces)
        found = self._holder(place)
        if found is None and not any(Region(place).covers(known) for known in self._sources):
            raise UsageError(f"no document came from {replaces!r}: `moverank info --source` lists the sources")
        return found and NamedSource(place, found.source.name_of(found.file), found.source.prefix)

    def _name(self, place: str, spelled: str, prefix: str | None, old: NamedSource | None) -> None:
        """Add the source of a path, unless it belongs to a known one."""
        holder = self._holder(place)
        if holder is None:
            name, kept = (old.name, old.prefix) if old else (Path(spelled).as_posix(), "")
            self._sources[place] = NamedSource(place, as_text(name), kept if prefix is None else prefix)
        elif prefix is not None and holder.source.prefix != prefix:
            if holder.file:
                raise UsageError(
                    f"{spelled} is part of the source {holder.source.place}: give --prefix when you index that"
                )
            self._sources[place] = holder.source._replace(prefix=prefix)
            self._renamed.append(self._sources[place])

    def _holder(self, path: str) -> Origin | None:
        """Return the innermost source that holds a canonical path."""
        place = next((place for place in upwards(path) if place in self._sources), None)
        return None if place is None else Origin(self._sources[place], path[len(place) :].lstrip("/"))

    def locate(self, source: Source) -> tuple[Source, Origin] | None:
        """Return a file with the key that it has in the collection, and its origin; None if it was located before.

        A file is read once, even if two of the paths hold it. The key of a message in a Maildir is its path without the
        parts that mail programs change.
        """
        path = self._path(source)
        if path == STREAM:
            return source, Origin(self._stream)
        if path in self._met:
            return None
        self._met.add(path)
        origin = self._holder(path) or Origin(NamedSource(path, as_text(source.key)))
        # A name that is not UTF-8 cannot be a key: the document is rejected later.
        if source.key == as_text(source.key):
            source = _with_key(source, origin.source.name_of(origin.file))
        return source, origin

    def completed(self, result: Document | BadRecord, source: NamedSource) -> Document | BadRecord:
        """Return a result with the prefix of its source in front of its key, and with the fields of every record."""
        if not (source.prefix or self._metadata):
            return result
        key = result.key and source.prefixed(result.key)
        if isinstance(result, BadRecord):
            return BadRecord(result.reason, key, part=result.part, ends=result.ends)
        metadata: dict[str, Value] = {**result.metadata, **self._metadata}
        label = metadata.pop("label") if "label" in self._metadata else result.label
        return replace(result, key=key or "", label=None if label is None else str(label), metadata=metadata)

    def _path(self, source: Source) -> str:
        if source.name in self._places:
            return self._places[source.name]
        if source.format == MAILDIR or _is_no_file(source):
            return place_of(source.name)
        name = Path(source.key)
        folder = str(name.parent)
        if folder not in self._folders:
            self._folders[folder] = name.parent.resolve().as_posix()
        return as_text(f"{self._folders[folder].rstrip('/')}/{name.name}")


def chosen_metadata(texts: Sequence[str]) -> dict[str, Value]:
    """Return the metadata that texts such as `site=bikes` state; a field of several texts has a list of values.

    Raises UsageError for another text, and for a value that cannot be stored.
    """
    found: dict[str, list[Value]] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UsageError(f"--set {text!r}: write FIELD=VALUE, as in --set site=bikes")
        found.setdefault(name, []).append(value)
    if len(found.get("label", ())) > 1:
        raise UsageError("--set label: a document has one label; other fields take several values")
    metadata: dict[str, Value] = {name: values[0] if len(values) == 1 else values for name, values in found.items()}
    fault = text_fault((), metadata) or name_fault(metadata)
    if fault:
        raise UsageError(f"--set {fault}")
    return metadata


def _is_no_file(source: Source) -> bool:
    """Return whether a source is a directory that cannot be read, or a pipe."""
    if source.explicit:
        return not Path(source.name).is_file()
    return source.fault is not None and os.path.isdir(source.name)  # noqa: PTH112 - Path.is_dir raises


def _with_key(source: Source, key: str) -> Source:
    """Return a file with another key; the keys of a Maildir's messages begin with it."""
    below = (PurePosixPath(message.key).relative_to(source.key) for message in source.messages)
    keys = (PurePosixPath(key, path).as_posix() for path in below)
    messages = tuple(replace(message, key=own) for message, own in zip(source.messages, keys, strict=True))
    return replace(source, key=key, messages=messages)
