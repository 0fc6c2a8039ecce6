"""The commands `shards ...`: a collection in shards."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from moverank.indexer import formatters
from moverank.indexer.commands.failures import NOTHING_CHANGED, interruptible
from moverank.indexer.commands.option_records import with_records
from moverank.indexer.commands.shared_options import SETTINGS, Json, SettingChoices, Wait

if TYPE_CHECKING:
    from moverank.indexer.plugins.shards.cluster import Cluster
    from moverank.indexer.values.search_options import Progress

app = typer.Typer(help="A collection in shards, on one machine or several.", no_args_is_help=True)

File = Annotated[
    Path,
    typer.Option("--index", "-i", envvar="MOVERANK_INDEX", metavar="FILE.toml", help="File that describes the shards."),
]
DEFAULT_FILE = Path("cluster.toml")
Name = Annotated[str, typer.Argument(help="The name of the shard.")]
Node = Annotated[str, typer.Option(metavar="ADDRESS", help="The machine of the Ray cluster that has the place.")]

_INTERRUPTED = "documents that were moved are in their new shards; `moverank shards balance` moves the rest"


@dataclass(frozen=True, slots=True)
class ShardChoices:
    """The shards of a new collection."""

    shards: Annotated[int, typer.Option(min=1, max=1000, help="Number of shards.")] = 2
    place: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR|URL", help="Place of each shard; repeatable. [default: directories in FILE.shards/]"),
    ] = None
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A running Ray cluster, such as auto. [default: this machine]")
    ] = ""
    node: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Machine in the Ray cluster of each place; repeatable."),
    ] = None


@app.command(epilog="Example: `moverank shards create -i forum.toml --shards 4 --embedding glove.6B.300d.txt.gz`")
@with_records
def create(
    *,
    file: File = DEFAULT_FILE,
    made: ShardChoices,
    settings: SettingChoices,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Create empty shards with the same settings and word vectors, and the file that describes them."""
    from moverank.indexer.plugins.shards.cluster import Cluster
    from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards, typed_place
    from moverank.indexer.values.settings import Settings

    choices = settings.chosen([name for name in SETTINGS if name != "train_options"])
    places = new_shards(file, made.shards, [typed_place(one) for one in made.place or ()], made.node or ())
    described = ClusterFile(file, places, made.address)
    with interruptible("there are no shards yet: remove their places"), formatters.Bars() as bars:
        Cluster.create(
            described, Settings(**choices), trust_pickle=settings.trust_pickle, wait=wait, progress=bars
        ).close()
    if as_json:
        formatters.print_object({"file": str(file), "shards": list(described.names)})
    else:
        typer.echo(f"{file} describes {len(described.shards)} shards: `moverank index PATH -i {file}` fills them")


@app.command(epilog="Example: `moverank shards info -i forum.toml`")
def info(file: File = DEFAULT_FILE, as_json: Json = False) -> None:
    """Show the shards, with their places, documents and processes, and sums of all."""
    from moverank.indexer.plugins.shards.cluster import Cluster

    with Cluster.open(file) as cluster:
        found = cluster.info()
    if as_json:
        formatters.print_object(found)
        return
    formatters.print_view(formatters.info_view({name: value for name, value in found.items() if name != "shards"}))
    formatters.print_view(formatters.shards_view(found["shards"]))


@app.command(epilog="Example: `moverank shards add s5 -i forum.toml --place 'postgresql://ada@db/texts?schema=s5'`")
def add(
    name: Name,
    file: File = DEFAULT_FILE,
    place: Annotated[
        str | None, typer.Option(metavar="DIR|URL", help="Its place. [default: a directory in FILE.shards/]")
    ] = None,
    node: Node = "",
    wait: Wait = 0.0,
    as_json: Json = False,
) -> None:
    """Add a shard, and move the documents that belong there to it; searches go on."""
    from moverank.indexer.plugins.shards.cluster_file import ShardPlace, default_place, typed_place

    shard = ShardPlace(name, typed_place(place) if place else default_place(file, name), node)
    _move_documents(lambda cluster, bars: cluster.add_shard(shard, progress=bars), file, wait, as_json=as_json)


@app.command(epilog="Example: `moverank shards drop s5 -i forum.toml`")
def drop(name: Name, file: File = DEFAULT_FILE, wait: Wait = 0.0, as_json: Json = False) -> None:
    """Move all documents of a shard to the others, and take it out of the file; its place is left, empty."""
    _move_documents(lambda cluster, bars: cluster.drop_shard(name, progress=bars), file, wait, as_json=as_json)


@app.command(epilog="Example: `moverank copy forum.shards/s2.index /fast/s2.index`, then `... move s2 /fast/s2.index`")
def move(
    name: Name,
    place: Annotated[str, typer.Argument(metavar="DIR|URL", help="The place of a copy that `moverank copy` made.")],
    file: File = DEFAULT_FILE,
    node: Node = "",
    wait: Wait = 0.0,
) -> None:
    """Let a shard be at another place, where a copy of it is; searches go on."""
    from moverank.indexer.plugins.shards.cluster import Cluster
    from moverank.indexer.plugins.shards.cluster_file import ShardPlace, typed_place

    with Cluster.open(file, wait=wait) as cluster, interruptible(NOTHING_CHANGED):
        cluster.move_shard(ShardPlace(name, typed_place(place), node))
    typer.echo(f"the shard {name} is in {place} now")


@app.command(epilog="Example: `moverank shards balance -i forum.toml`")
def balance(file: File = DEFAULT_FILE, wait: Wait = 0.0, as_json: Json = False) -> None:
    """Move documents to the shards that they belong to, after an interrupted `add` or `drop`."""
    _move_documents(lambda cluster, bars: cluster.balance(progress=bars), file, wait, as_json=as_json)


@app.command(epilog="Example: `moverank shards stop -i forum.toml`")
def stop(file: File = DEFAULT_FILE) -> None:
    """End the processes of the shards in a running Ray cluster; the next command starts them again."""
    from moverank.indexer.plugins.shards.cluster import Cluster

    with Cluster.open(file) as cluster:
        cluster.stop()


def _move_documents(change: "Callable[[Cluster, Progress], int]", file: Path, wait: float, *, as_json: bool) -> None:
    """Print how many documents `change` moved."""
    from moverank.indexer.plugins.shards.cluster import Cluster

    began = perf_counter()
    with Cluster.open(file, wait=wait) as cluster, interruptible(_INTERRUPTED), formatters.Bars() as bars:
        moved = change(cluster, bars)
    if as_json:
        formatters.print_object({"moved": moved})
    else:
        typer.echo(f"{moved:,} documents were moved ({perf_counter() - began:.2f} s)")
