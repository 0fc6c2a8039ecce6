"""Places in databases: they belong to plug-ins, and one that is missing is one sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.errors import PlugInError, UsageError
from moverank.indexer.files.databases import databases, normal_url, scheme_of
from moverank.indexer.files.location import CACHE, URL_FILE, collection_directory, display_name, is_url
from moverank.indexer.store import Store, exists
from moverank.indexer.store.engines import Database

_URL = "postgresql://ada:swordfish@db/texts?schema=forum"
_MISSING = "there is no plug-in for the databases 'postgresql': install the package that provides it"


class Notes(Database):
    """A database of another package: files of SQLite by the name of their host."""

    NAME, FORM = "notes", "notes://NAME"

    @staticmethod
    def identity(url: str) -> tuple[str, str]:
        return url.rpartition("/")[2], url

    @classmethod
    def open(cls, url: str) -> "Notes":
        return cls(f"sqlite:///{url.rpartition('/')[2]}.db")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Let only some plug-ins be there."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def choose(*kinds: type[Notes]) -> None:
        named = {kind.NAME: kind for kind in kinds}
        monkeypatch.setattr(databases(), "has", named.__contains__)
        monkeypatch.setattr(databases(), "of", named.__getitem__)
        monkeypatch.setattr(databases(), "names", lambda: tuple(named))

    return choose


@pytest.mark.parametrize("place", [_URL, Path(_URL), _URL.replace("ql", ""), f"{_URL}.toml"])
def test_a_missing_plug_in_is_one_sentence(only: Callable[..., None], tmp_path: Path, place: str | Path) -> None:
    only()
    assert is_url(str(place))
    for work in (collection_directory, Collection.open, Collection.create):
        with pytest.raises(PlugInError, match=f"^{_MISSING}$"):
            work(place)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_names_a_database_of_a_missing_plug_in(only: Callable[..., None], tmp_path: Path) -> None:
    only()
    cache = tmp_path / "cache" / "forum-0123456789abcdef"
    cache.mkdir(parents=True)
    (cache / URL_FILE).write_text(_URL)
    assert display_name(cache) == "postgresql://ada@db/texts?schema=forum"
    with pytest.raises(PlugInError, match=_MISSING):
        exists(cache)


def test_a_database_of_another_package(only: Callable[..., None], tmp_path: Path) -> None:
    only(Notes)
    directory = collection_directory("notes://forum")
    assert directory.parent == tmp_path / "cache"
    assert directory.name.startswith("forum-")
    assert not exists(directory)
    Store("notes://forum").close()
    assert (tmp_path / "forum.db").is_file()


def test_other_places_show_the_forms_of_databases(only: Callable[..., None]) -> None:
    only(Notes)
    with pytest.raises(UsageError, match=r"^files://ada@db: a collection is a directory, or notes://NAME$"):
        collection_directory("files://ada:swordfish@db")
    only()
    with pytest.raises(UsageError, match=r"^files://db: a collection is a directory$"):
        collection_directory("files://db")


@pytest.mark.parametrize("place", ["forum", "a:/b", "http://host", "postgresql", "postgresql:", "/postgres://x"])
def test_other_places_name_no_database(place: str) -> None:
    assert (scheme_of(place), normal_url(place), is_url(place)) == ("", place, False)
