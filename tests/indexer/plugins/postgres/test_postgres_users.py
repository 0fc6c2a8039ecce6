"""How a database is named, who may use it, and the one sentence for each that cannot be used."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.errors import CollectionError
from moverank.indexer.files.location import CACHE, URL_FILE, collection_directory, without_passwords
from moverank.indexer.maintenance.check import check_collection
from tests.indexer.commands.program import Call, program
from tests.indexer.world import CollectionFactory, document, random_documents

pytestmark = pytest.mark.usefixtures("postgres")

_SCHEMA = "the schema must be one name of letters, digits and _, as in ?schema=forum"
_FORM = "postgresql://USER@HOST/DATABASE?schema=SCHEMA"
UNUSABLE = [
    ("postgresql://postgres@nowhere.invalid/x?schema=forum", 1, "cannot be reached: failed to resolve host"),
    ("postgresql://postgres@127.0.0.1:1/x?schema=forum", 1, "cannot be reached: connection failed: "),
    ("postgresql:///nodb?host={host}&schema=forum", 1, 'database "nodb" does not exist'),
    ("postgresql://nouser@/postgres?host={host}&schema=forum", 1, 'role "nouser" does not exist'),
    ("postgresql:///postgres?host={host}&sslmode=nonsense", 1, 'invalid sslmode value: "nonsense"'),
    ("postgresql:///postgres?host={host}&nonsense=1", 1, 'cannot be reached: invalid connection option "nonsense"'),
    ("postgresql:///?service=nosuch&schema=forum", 1, 'definition of service "nosuch" not found'),
    ("postgresql:///postgres?host={host}&schema=empty", 1, "there is no collection in postgresql:///postgres?host="),
    ("postgresql:///postgres?host={host}&schema=my-forum", 2, _SCHEMA),
    ("postgresql:///postgres?host={host}&schema=a'b\"c", 2, _SCHEMA),
    ("postgresql:///postgres?host={host}&schema=", 2, _SCHEMA),
    ("postgresql:///postgres?host={host}&schema=forum#top", 2, _SCHEMA),
    ("postgresql://postgres@host:port/postgres", 2, f"the URL of the database is invalid: it must be {_FORM}, where"),
    ("postgresql://postgres@[::1/postgres", 2, "the URL of the database is invalid"),
    ("postgresql://ada:se:c/ret@host/x", 2, "special characters of names and passwords are percent-encoded"),
    ("postgresql+psycopg://ada:secret@host/x", 2, f"://ada@host/x: a collection is a directory, or {_FORM}"),
    ("mysql://host/x", 2, "mysql://host/x: a collection is a directory, or postgresql://"),
]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Runs `moverank` with arguments, and a cache of its own."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return program(monkeypatch, capsys)


@pytest.fixture(scope="module")
def schema(factory: CollectionFactory, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a collection of 20 documents in a schema, whose name this is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(tmp_path_factory.mktemp("cache")))
        with Collection.create(_url("Users"), factory.settings()) as collection:
            collection.index(random_documents(20))
    return "Users"


def _url(schema: str, user: str = "postgres") -> str:
    return f"postgresql://{user}@/postgres?host={os.environ['PGHOST']}&schema={schema}"


def _sql(*statements: str) -> None:
    import psycopg

    with psycopg.connect(autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(("url", "code", "sentence"), UNUSABLE, ids=[url for url, _, _ in UNUSABLE])
def test_a_url_that_cannot_be_used_is_one_sentence(call: Call, url: str, code: int, sentence: str) -> None:
    answer = call("search", "ant", "-i", url.format(host=os.environ["PGHOST"]))
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.sentence
    assert "secret" not in answer.err
    assert "c/ret" not in answer.err


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://postgres@/postgres?host={host}&schema={schema}&sslmode=prefer&connect_timeout=5",
        "postgresql://postgres@{quoted}/postgres?schema={schema}",
        "postgres:///postgres?schema={schema}",
        "postgresql:///?service=texts&schema={schema}",
        "postgresql://?service=texts&schema={schema}&options=-cstatement_timeout%3D60000",
    ],
)
def test_a_database_can_be_named_as_in_its_own_programs(
    call: Call, schema: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = os.environ["PGHOST"]
    (tmp_path / "services").write_text(f"[texts]\nhost={host}\nuser=postgres\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    url = form.format(host=host, quoted=host.replace("/", "%2F"), schema=schema)
    assert len(call("search", "ant bee", "-k", "3", "-i", url, "--json").json["hits"]) == 3
    monkeypatch.setenv("MOVERANK_INDEX", url)
    assert call("info", "--json").json["documents"] == 20


def test_capitals_name_another_schema(call: Call, schema: str) -> None:
    assert call("info", "-i", _url(schema), "--json").json["documents"] == 20
    assert "there is no collection in" in call("info", "-i", _url(schema.lower())).sentence


def test_a_user_who_may_only_read_searches(call: Call, schema: str, factory: CollectionFactory, tmp_path: Path) -> None:
    _sql(
        "CREATE ROLE reads LOGIN",
        "CREATE ROLE stranger LOGIN",
        f'GRANT USAGE ON SCHEMA "{schema}" TO reads',
        f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO reads',
    )
    url = _url(schema, "reads")
    found = call("search", "ant bee", "-k", "3", "-i", url, "--json").json["hits"]
    assert found == call("search", "ant bee", "-k", "3", "-i", _url(schema), "--json").json["hits"]
    assert call("check", "-i", url).out == "nothing is wrong\n"
    texts = tmp_path / "more.jsonl"
    texts.write_text(json.dumps({"id": "more", "text": "ant"}) + "\n")
    for command in (["index", texts], ["remove", "d1"], ["refit", "--embedding", factory.vectors]):
        answer = call(*command, "-i", url)
        assert answer.code == 1
        assert "the user of the database may not do this: permission denied for" in answer.sentence
    answer = call("copy", _url(schema), url.replace(schema, "forbidden"))
    assert "may not do this: permission denied for database postgres" in answer.sentence
    assert "there is no collection in" in call("list", "-i", _url(schema, "stranger")).sentence
    assert call("info", "-i", url, "--json").json["documents"] == 20


ONE_PLACE = "postgresql://ada@db:5432/texts?schema=forum"
OTHER_PLACES = [
    ("postgresql://reader@db:5432/texts?schema=forum", {}),
    ("postgresql://db:5432/texts?schema=forum&user=reader", {}),
    ("postgresql://db:5432/texts?schema=forum", {"PGUSER": "reader"}),
    ("postgresql://db:5432/texts?schema=forum", {}),
    ("postgresql://ada@db:5432/texts?schema=forum&options=-crole%3Dreader", {}),
    ("postgresql://ada@/texts?schema=forum", {"PGHOST": "other", "PGPORT": "5432"}),
    ("postgresql://ada@db:5432/texts?schema=forum", {"PGHOSTADDR": "127.0.0.1"}),
    ("postgresql://ada@db:5432/?schema=forum", {"PGDATABASE": "other"}),
    ("postgresql://ada@db:5432/?schema=forum", {"PGSERVICE": "texts"}),
]


@pytest.mark.parametrize(("url", "variables"), OTHER_PLACES)
def test_each_user_role_and_server_has_a_cache(
    url: str, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    for name in ("PGHOST", "PGUSER", "PGDATABASE"):
        monkeypatch.delenv(name)
    first = collection_directory(ONE_PLACE)
    assert collection_directory(ONE_PLACE.replace("ada@", "ada:secret@")) == first
    monkeypatch.setenv("PGUSER", "nobody")  # the URL names another
    assert collection_directory(ONE_PLACE) == first
    monkeypatch.delenv("PGUSER")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert collection_directory(url) != first


def test_each_content_of_a_service_has_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    file, caches = tmp_path / "services", set[Path]()
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    for content in ("[own]\nuser=ada", "[own]\nuser=bob", "[own]\nuser=bob\ndbname=x", "[other]\nuser=ada"):
        file.write_text(f"# services\n[first]\nhost=h\n{content}\n")
        caches.add(collection_directory("postgresql:///?service=own&schema=forum"))
    assert len(caches) == 4
    file.write_text(" [own] \n# the user\nuser=ada\npassword=x\n[other]\nuser=bob\n")
    assert collection_directory("postgresql:///?service=own&schema=forum") in caches
    monkeypatch.setenv("PGSERVICE", "own")
    named = collection_directory("postgresql:///?schema=forum")
    file.write_text("[own]\nuser=bob\n")
    assert collection_directory("postgresql:///?schema=forum") != named


def test_a_user_who_may_only_read_stays_that_user_when_another_opens_it(call: Call, schema: str) -> None:
    """A process opens a collection again by its directory, as that of a server which writes."""
    _sql("CREATE ROLE only_reads LOGIN", f'GRANT USAGE ON SCHEMA "{schema}" TO only_reads')
    _sql(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO only_reads')
    with Collection.open(_url(schema, "only_reads")) as reader:
        assert call("info", "-i", _url(schema)).code == 0
        with Collection.open(reader.path) as again:
            for opened in (reader, again):
                with pytest.raises(CollectionError, match="may not do this: permission denied"):
                    opened.index([document("stranger", "ant")])
    assert call("info", "-i", _url(schema), "--json").json["documents"] == 20


def test_sessions_do_not_show_the_words_of_a_query(call: Call, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    seen: list[str] = []
    search = Collection.search

    def watched(collection: Collection, *arguments: Any, **fields: Any) -> Any:
        with collection.reading(), psycopg.connect() as connection:
            seen.extend(row[0] for row in connection.execute("SELECT application_name FROM pg_stat_activity"))
        return search(collection, *arguments, **fields)

    monkeypatch.setattr(Collection, "search", watched)
    assert call("search", "ant bee", "-i", _url(schema)).code == 0
    assert [name for name in seen if name.startswith(f"moverank process {os.getpid()} on ")]
    assert not [name for name in seen if "ant" in name or "search" in name]


def test_a_wrong_password_is_one_sentence(call: Call, schema: str) -> None:
    """The server trusts every other user."""
    _sql("CREATE ROLE locked LOGIN PASSWORD 'right'", f'GRANT USAGE ON SCHEMA "{schema}" TO locked')
    _sql(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO locked')
    access = Path(os.environ["PGHOST"], "data", "pg_hba.conf")
    before = access.read_text()
    access.write_text(f"local all locked scram-sha-256\n{before}")
    try:
        _sql("SELECT pg_reload_conf()", "SELECT pg_sleep(0.2)")
        answer = call("info", "-i", _url(schema, "locked:wrong"))
        assert answer.code == 1
        assert 'password authentication failed for user "locked"' in answer.sentence
        assert "no password supplied" in call("info", "-i", _url(schema, "locked")).sentence
        right = _url(schema, "locked:right")
        assert call("info", "-i", right, "--json").json["documents"] == 20
        stored = collection_directory(right) / URL_FILE  # by which a running server opens the collection again
        assert stored.read_text() == right
        assert call("info", "-i", _url(schema, "locked:wrong")).code == 1
        assert stored.read_text() == right
    finally:
        access.write_text(before)
        _sql("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("search what? -i postgresql://ada:pa@ss@db/x?schema=y", "search what? -i postgresql://ada@db/x?schema=y"),
        ("postgresql://db/x?password=a&schema=y", "postgresql://db/x?schema=y"),
        ("postgresql://db/x?schema=y&sslpassword=a&password=b z", "postgresql://db/x?schema=y z"),
        ("no password=here", "no password=here"),
    ],
)
def test_passwords_are_not_shown(text: str, shown: str) -> None:
    assert without_passwords(text) == shown


def test_two_machines_write_and_read_in_turns(
    factory: CollectionFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a cache of its own; that of the second is deleted again and again."""
    url, caches = _url("turns"), [tmp_path / "one", tmp_path / "two"]
    monkeypatch.setenv(CACHE, str(caches[0]))
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 5)
    Collection.create(url, factory.settings()).close()
    found = []
    for turn in range(8):
        monkeypatch.setenv(CACHE, str(caches[turn % 2]))
        with Collection.open(url) as writer:
            writer.index([document(f"t{turn}-{i}", "ant bee", *["cat"] * i) for i in range(4)])
            if turn > 1:
                writer.remove([f"t{turn - 2}-1"])
            if turn == 5:
                writer.refit()
        for cache in caches:
            monkeypatch.setenv(CACHE, str(cache))
            with Collection.open(url) as reader:
                hits = reader.search("ant cat", k=99).hits
                found.append(sorted((hit.key, round(hit.distance, 9)) for hit in hits))
        assert found[-1] == found[-2]
        assert len(found[-1]) == 4 * (turn + 1) - max(0, turn - 1)
        for path in sorted(caches[1].rglob("*"), reverse=True):  # deleted in the middle
            path.unlink() if path.is_file() else path.rmdir()


def test_a_cache_that_is_deleted_while_it_is_used_is_made_again(
    factory: CollectionFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 5)
    url = _url("deleted")
    with Collection.create(url, factory.settings()) as collection:
        collection.index(random_documents(20))
        before = collection.search("ant bee", k=99).hits
        shutil.rmtree(collection.path)
        assert collection.search("ant bee", k=99).hits == before
        collection.refresh()
        assert collection.search("ant bee", k=99).hits == before
        shutil.rmtree(collection.path)
        assert collection.index([document("new", "ant bee")]).added == 1
        assert collection.search("ant bee", k=1).hits[0].key == "new"
        shutil.rmtree(collection.path)
    assert check_collection(collection_directory(url)).sentences() == ()
    with Collection.open(url) as again:
        assert len(again) == 21
