"""Some documents as filters see them: their fields, keys and sources, read once for many filters."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from moverank.indexer.documents import NamedSource
from moverank.indexer.store import Reader, StoredState


@dataclass(frozen=True, slots=True)
class FewDocuments:
    """Documents by increasing ids: the key and state of each, and its fields (name, value).

    `named_sources` returns the sources of the collection by id.
    """

    states: dict[int, tuple[str, StoredState]]
    fields: dict[int, list[tuple[str, str]]]
    named_sources: Callable[[], dict[int, NamedSource]]

    @classmethod
    def read(cls, reader: Reader, ids: Iterable[int]) -> Self:
        """Read the documents `ids`, all of which exist."""
        wanted = sorted(ids)
        keys = reader.keys(wanted)
        known = reader.known([*keys.values()])
        fields: dict[int, list[tuple[str, str]]] = {id_: [] for id_ in wanted}
        for id_, name, value in reader.fields_of(wanted):
            fields[id_].append((name, value))
        return cls({id_: (keys[id_], known[keys[id_]]) for id_ in wanted}, fields, cache(reader.named_sources))

    def only(self, ids: Sequence[int]) -> Self:
        """Return the documents `ids`, in any order, alone."""
        own = sorted(ids)
        states, fields = {id_: self.states[id_] for id_ in own}, {id_: self.fields[id_] for id_ in own}
        return type(self)(states, fields, self.named_sources)

    def ids(self) -> Iterator[int]:
        """Iterate over the ids."""
        return iter(self.states)

    def known(self, keys: Sequence[str]) -> dict[str, StoredState]:
        """Return the documents with some keys, by key."""
        wanted = set(keys)
        return {key: state for key, state in self.states.values() if key in wanted}

    def ids_beginning(self, prefix: str) -> list[int]:
        """Return the ids of the documents whose keys begin with a prefix."""
        return [id_ for id_, key in self.all_keys() if key.startswith(prefix)]

    def all_keys(self) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, key)."""
        return ((id_, key) for id_, (key, _) in self.states.items())

    def files_of_source(self, source: int | None) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, file) of the documents of a source."""
        own = ((id_, state) for id_, (_, state) in self.states.items() if state.source == source)
        return ((id_, state.file or "") for id_, state in own)

    def field_names(self) -> list[str]:
        """Return the names of all fields, in order."""
        return sorted({name for own in self.fields.values() for name, _ in own})

    def ids_with_field(self, name: str) -> list[int]:
        """Return the ids of documents that have a field, once for each of its values."""
        return [id_ for id_, _ in self.values(name)]

    def distinct_values(self, name: str) -> list[str]:
        """Return the different values of a field."""
        return list({value for _, value in self.values(name)})

    def ids_with_value(self, name: str, values: Sequence[str]) -> list[int]:
        """Return the ids of documents whose field has any of the values, once for each."""
        wanted = set(values)
        return [id_ for id_, value in self.values(name) if value in wanted]

    def values(self, name: str) -> list[tuple[int, str]]:
        """Return (document id, value) of a field."""
        return [(id_, value) for id_, own in self.fields.items() for field, value in own if field == name]
