"""The file that describes a collection in shards, such as `cluster.toml`.

A hash of a document's key and of each shard's name decides which shard the document belongs to.

Highest random weight (Thaler & Ravishankar 1998): when a shard is added, only the documents that belong to it move;
when a shard is removed, only its own documents move.
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.atomic_write import write_text
from moverank.indexer.files.checksums import short_checksum
from moverank.indexer.files.location import (
    check_cluster,
    check_trusted,
    collection_directory,
    is_cluster,
    is_url,
    name_cluster,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_KEYS = {"place", "node"}


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Where a shard is: its `name`, and its `place`, a directory or the URL of a database.

    A place that is a relative path is relative to the file. `node` is the address of the machine in the Ray cluster
    that has the directory; empty: any.
    """

    name: str
    place: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """The `shards` of a collection, described by the file at `path`.

    `address` names a running Ray cluster, as "auto" or "ray://host:10001"; empty: processes on this machine,
    which end with the command.
    """

    path: Path
    shards: tuple[ShardPlace, ...]
    address: str = ""

    @classmethod
    def read(cls, path: Path) -> "ClusterFile":
        """Read a file; UsageError for bad content.

        CollectionError if the file is missing, or names a database or a Ray cluster that the user has not named.
        """
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            made = f"`moverank shards create -i {path}`"
            raise CollectionError(f"there is no {path}, which describes shards: make it with {made}") from error
        except OSError as error:
            raise CollectionError(f"{path} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} is not TOML: {error}") from error
        except RecursionError as error:
            raise UsageError(f"{path} is nested too deeply: no description of shards is") from error
        shards = content.get("shards")
        if not isinstance(shards, dict) or not shards:
            raise UsageError(f'{path} names no shard: each has a table, as [shards.s1] with place = "s1.index"')
        address = content.get("address", "")
        if not isinstance(address, str):
            raise UsageError(f"{path}: address must be a text, not {address!r}")
        unknown = sorted(content.keys() - {"shards", "address"})
        if unknown:
            raise UsageError(f"{path} has an unknown key {unknown[0]!r}: choose address and shards")
        read = cls(path, tuple(_shard(path, name, values) for name, values in shards.items()), address).checked()
        check_cluster(address, path)
        for shard in read.shards:
            if is_url(shard.place):
                check_trusted(shard.place, path)
        return read

    def checked(self) -> "ClusterFile":
        """Return the description; UsageError for a file name without .toml, a bad name, and two shards at one place."""
        if not is_cluster(self.path):
            raise UsageError(f"a file that describes shards ends with .toml: {self.path}.toml")
        seen: dict[str, str] = {}
        for shard in self.shards:
            if not _NAME.fullmatch(shard.name):
                raise UsageError(f"{self.path}: the name of a shard has letters, digits, - and _, not {shard.name!r}")
            place = self.place_of(shard)
            place = place if is_url(place) else os.path.realpath(place)
            if place in seen:
                raise UsageError(
                    f"{self.path}: the shards {seen[place]} and {shard.name} have the same place, {shard.place}"
                )
            seen[place] = shard.name
        return self

    def write(self) -> None:
        """Replace the file atomically; the user has named its databases and its Ray cluster."""
        name_cluster(self.address)
        for shard in self.shards:
            if is_url(shard.place):
                collection_directory(shard.place)
        lines = ["# A collection in shards: see `moverank help shards`.", f"address = {_quoted(self.address)}"]
        for shard in self.shards:
            lines += ["", f"[shards.{shard.name}]", f"place = {_quoted(shard.place)}"]
            lines += [f"node = {_quoted(shard.node)}"] if shard.node else []
        write_text(self.path, "\n".join(lines) + "\n")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the shards."""
        return tuple(shard.name for shard in self.shards)

    def place_of(self, shard: ShardPlace) -> str:
        """Return the absolute path of a shard's directory, or the URL of its database."""
        if is_url(shard.place):
            return shard.place
        return str((self.path.resolve().parent / shard.place).absolute())

    def with_shard(self, shard: ShardPlace) -> "ClusterFile":
        """Return the description with one more shard, or with another place of one; UsageError for an invalid name."""
        others = tuple(own for own in self.shards if own.name != shard.name)
        return replace(self, shards=tuple(sorted((*others, shard), key=lambda own: own.name))).checked()

    def without(self, name: str) -> "ClusterFile":
        """Return the description without a shard."""
        return replace(self, shards=tuple(shard for shard in self.shards if shard.name != name))

    def shard(self, name: str) -> ShardPlace:
        """Return the shard with a name; UsageError if there is none."""
        for shard in self.shards:
            if shard.name == name:
                return shard
        raise UsageError(f"{self.path} has no shard {name!r}: choose {', '.join(self.names)}")


def new_shards(path: Path, number: int, places: Sequence[str], nodes: Sequence[str] = ()) -> tuple[ShardPlace, ...]:
    """Return shards s1, s2, ... at these places, or in directories beside the file; UsageError for too few places.

    `nodes` are the addresses of their machines, none or one for each.
    """
    names = [f"s{i:0{len(str(number))}}" for i in range(1, 1 + number)]
    if places and len(places) != number:
        raise UsageError(f"{number} shards need as many places, not {len(places)}: repeat --place")
    if nodes and len(nodes) != number:
        raise UsageError(f"{number} shards need as many machines, not {len(nodes)}: repeat --node")
    chosen = places or [default_place(path, name) for name in names]
    return tuple(ShardPlace(*shard) for shard in zip(names, chosen, nodes or [""] * number, strict=True))


def typed_place(place: str) -> str:
    """Return a typed place; a relative path is relative to the working directory, not to the file."""
    return place if is_url(place) else str(Path(place).absolute())


def default_place(path: Path, name: str) -> str:
    """Return a directory for a shard, relative to the file."""
    return f"{path.stem}.shards/{name}.index"


def _shard(path: Path, name: str, values: object) -> ShardPlace:
    if not isinstance(values, Mapping) or not isinstance(values.get("place"), str) or not values["place"].strip():
        raise UsageError(f'{path}: the shard {name} needs a place, a directory or a URL: place = "{name}.index"')
    unknown = sorted(set(values) - _KEYS)
    if unknown:
        raise UsageError(f"{path}: the shard {name} has an unknown key {unknown[0]!r}: choose {', '.join(_KEYS)}")
    if not isinstance(values.get("node", ""), str):
        raise UsageError(f"{path}: the node of the shard {name} must be a text, not {values['node']!r}")
    known: dict[str, Any] = {key: values[key] for key in _KEYS & set(values)}
    return ShardPlace(name, **known)


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML, which has the same escapes as JSON."""
    return json.dumps(text, ensure_ascii=False)


def shard_of(key: str, names: Sequence[str]) -> str:
    """Return the name of the shard, among `names`, of the document `key`."""
    encoded = key.encode(errors="surrogatepass")
    return max(names, key=lambda name: (short_checksum(name.encode() + b"\0" + encoded), name))
