"""The operations of watches: they read and change the database of a collection in one place, and open no state."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.operations.operation import UNLIMITED, Found, Operation, Work
from moverank.indexer.plugins.watching.watches import checked_name, in_one_place, new_watch, watch_ranking
from moverank.indexer.values.arguments import LARGEST, whole_number
from moverank.indexer.values.documents import Changes, Event, Watch
from moverank.indexer.values.limit_or_share import limit_or_share, part_of
from moverank.indexer.values.option import Option
from moverank.indexer.values.queries import QueryText
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.search_options import Where
from moverank.rerank.answer import Answer

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection

_Name = Annotated[str, Option("The name of the watch.")]


class _OfDatabase(Operation[Found]):
    """Reads or changes the database; `watches_api` has the endpoints."""

    __slots__ = ()
    OF_STATE: ClassVar = False
    SERVED: ClassVar = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddWatch(_OfDatabase[Watch]):
    """Add a watch, or replace the one of the same name: later documents within D of its query yield events."""

    NAME: ClassVar = "watch"
    ANSWER: ClassVar = Watch

    name: _Name
    query: Annotated[QueryText, Option("A text, or a record with a title and a text, or a thread.", noun="the query")]
    within: Annotated[float | str, Option("The largest distance of an event.", least=0)]
    rank: Annotated[
        str | None,
        Option("The distance, such as `wmd` or `pwmd:gamma=0.5`.", "WMD with the collection's gamma and weights"),
    ] = None
    gamma: Annotated[
        float | None, Option("How much less the later posts of a thread count.", "as in the collection", least=0)
    ] = None
    where: Annotated[
        Where | None,
        Option("The filter: a list of conditions such as `year>=2019`, all of which must hold, or values by field."),
    ] = None

    def run(self, state: Any, work: Work = UNLIMITED) -> Watch:  # noqa: ARG002 - it is short
        """Return the watch; see `Collection.watch`."""
        from moverank.indexer.plugins.watching.watch_matcher import add_watch

        collection = in_one_place(state)
        made = new_watch(self.name, self.query, *self.distance(collection), self.where)
        with collection.writing() as writer:
            collection.refresh()
            return add_watch(writer, collection.settings, collection.embedding, made)

    def distance(self, collection: "Collection") -> tuple[float, RankingSpec]:
        """Return the largest distance, and the ranking; UsageError for invalid ones."""
        limited = limit_or_share("the largest distance", self.within)
        ranking = watch_ranking(self.rank, self.gamma, collection.settings.ranking)
        if not isinstance(limited, str):
            return limited, ranking
        k = max(1, round(part_of(limited) * len(collection)))
        hits = collection.search(self.query, k=k, rank=str(ranking), exact=True, spelling=False).hits
        if not hits:
            raise UsageError(f"no document could be compared with the query: a share such as {limited} needs some")
        return hits[-1].distance, ranking


@dataclass(frozen=True, slots=True)
class Watches(Answer):
    """The watches of a collection."""

    watches: tuple[Watch, ...]
    """Some of them, by name."""
    total: int
    """The number of all watches."""
    revision: int
    """The number of the last committed change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWatches(_OfDatabase[Watches]):
    """List watches by name."""

    NAME: ClassVar = "watches"
    ANSWER: ClassVar = Watches

    first: Annotated[int, Option("How many watches to skip.", least=0)] = 0
    limit: Annotated[int, Option("How many watches to return.", least=1)] = LARGEST

    def run(self, state: Any, work: Work = UNLIMITED) -> Watches:  # noqa: ARG002 - it is short
        """Return the watches, as of the last commit."""
        with in_one_place(state).reading() as reader:
            found = tuple(reader.watches(self.first, self.limit))
            return Watches(found, reader.watch_count(), reader.revision())


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveWatch(_OfDatabase[Changes]):
    """Remove a watch; its events stay."""

    NAME: ClassVar = "unwatch"
    ANSWER: ClassVar = Changes

    name: _Name

    def run(self, state: Any, work: Work = UNLIMITED) -> Changes:  # noqa: ARG002 - it is short
        """Return the revision; UnknownKey if there is no such watch."""
        collection = in_one_place(state)
        checked_name(self.name)
        with collection.writing() as writer:
            if not writer.drop_watch(self.name):
                raise UnknownKey(f"there is no watch {self.name!r}")
            return Changes(revision=writer.revision())


@dataclass(frozen=True, slots=True)
class Events(Answer):
    """Some events of the watches of a collection."""

    events: tuple[Event, ...]
    """The events in their order."""
    revision: int
    """The number of the last committed change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEvents(_OfDatabase[Events]):
    """Return the first events of watches after a number, in their order."""

    NAME: ClassVar = "events"
    ANSWER: ClassVar = Events

    after: Annotated[int, Option("Only events with a larger number.", least=0)] = 0
    limit: Annotated[int, Option("How many events to return.", least=1)] = 1000

    def run(self, state: Any, work: Work = UNLIMITED) -> Events:  # noqa: ARG002 - it is short
        """Return the events, as of the last commit; UsageError for invalid numbers."""
        least = whole_number("after", self.after, 0, LARGEST)
        most = whole_number("limit", self.limit, 1, LARGEST)
        with in_one_place(state).reading() as reader:
            return Events(tuple(reader.events(least, most)), reader.revision())


@dataclass(frozen=True, slots=True)
class Forgotten(Answer):
    """Events were deleted."""

    forgotten: int
    """How many there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetEvents(_OfDatabase[Forgotten]):
    """Delete old events; their numbers are not given again."""

    NAME: ClassVar = "forget-events"
    ANSWER: ClassVar = Forgotten

    before: Annotated[int, Option("Events with a number below this are deleted.", least=0)]

    def run(self, state: Any, work: Work = UNLIMITED) -> Forgotten:  # noqa: ARG002 - it is short
        """Return how many there were; UsageError for an invalid number."""
        number = whole_number("before", self.before, 0, LARGEST)
        with in_one_place(state).writing() as writer:
            return Forgotten(writer.forget_events(number))
