"""An operation of an installed package: its command, its endpoint with OpenAPI, and its call are made of its record."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from moverank import Document, UnknownKey, UsageError
from moverank.cli import app
from moverank.indexer.errors import PlugInError
from moverank.indexer.operations.operation_registry import PLUG_INS, operation_named
from moverank.rerank.errors import NoKnownWords
from tests.indexer.plugins.faces import Faces, faces_of
from tests.indexer.plugins.operations.shout import Shout, Shouted
from tests.indexer.plugins.shards.conftest import created, keep_local
from tests.indexer.world import CollectionFactory, document
from tests.rerank.encoders.packages import write_installed


@pytest.fixture(scope="module")
def faces(factory: CollectionFactory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faces]:
    directory = tmp_path_factory.mktemp("installed")
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        keep_local(patch)
        write_installed(
            directory, "moverank_shout", {"shout": "tests.indexer.plugins.operations.shout:Shout"}, "operations"
        )
        patch.syspath_prepend(directory)
        collection, shards = opened.enter_context(factory.empty()), opened.enter_context(created(factory))
        for each in (collection, shards):
            each.index([Document("k", "Dog", document("k", "ant bee cat").parts), document("l", "ant cat")])
        yield opened.enter_context(faces_of(collection, shards))


def test_every_face_runs_it(faces: Faces) -> None:
    operation = Shout(text="ant", more=[Document("", "", document("", "bee").parts)], keys=("k",), signs=2)
    expected = Shouted(("ANT!!", "BEE!!"), ("DOG",))
    for each in faces.all:
        assert each.run(operation) == expected
        assert each.run(Shout(text="ant")) == Shouted(("ANT!",))
        with pytest.raises(UnknownKey, match="'gone'"):
            each.run(Shout(text="ant", keys=("gone",)))
        with pytest.raises(NoKnownWords, match=r"as quiet as 0\.5"):
            each.run(Shout(text="ant", quiet=0.5))


def test_its_endpoint_has_its_options(faces: Faces) -> None:
    shout = "/collections/one/shout"
    assert faces.server.api(shout, {"text": {"text": "ant"}, "signs": 3})["texts"] == ["ANT!!!"]
    sentences = {
        "signs: must be at least 1": {"text": "ant", "signs": 0},
        "hush: must be above 0": {"text": "ant", "hush": 0},
        "text: is missing": {},
        "quiet is no field of this request": {"text": "ant", "quiet": 1},
        "at most 1000 texts are allowed": {"text": "ant", "more": ["a"] * 999, "keys": ["k"] * 2},
    }
    for sentence, body in sentences.items():
        assert sentence in faces.server.api(shout, body)["detail"], body


def test_its_openapi_is_made_of_its_docstrings(faces: Faces) -> None:
    described = json.loads(faces.server.get("/openapi.json").text)
    operation = described["paths"]["/collections/{name}/shout"]["post"]
    schemas = described["components"]["schemas"]
    body, answer = schemas["ShoutBody"], schemas["ShoutedObject"]
    assert operation["description"] == body["description"] == "Repeat texts, and titles of documents, in capitals."
    assert body["required"] == ["text"]
    assert body["properties"]["hush"]["description"] == "How quiet it is; null: not at all."
    assert body["properties"]["signs"]["minimum"] == body["properties"]["signs"]["default"] == 1
    assert answer["description"] == "Texts in capitals."
    assert answer["properties"]["documents"]["description"] == (
        "The titles of stored documents; left out without keys."
    )
    assert answer["required"] == ["texts", "revision"]


def test_it_is_no_other_argument() -> None:
    with pytest.raises(TypeError, match="loud"):
        Shout(text="ant", loud=True)  # type: ignore[call-arg]


def _run(*arguments: object) -> str:
    """Return what the program prints; the app is built anew, with the commands of installed packages."""
    answer = CliRunner().invoke(app, [*map(str, arguments)])
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_its_command_is_made_of_its_record(faces: Faces) -> None:
    assert "Repeat texts, and titles of documents, in capitals." in _run("--help")
    shown = " ".join(_run("shout", "--help").split())
    for each in ("TEXT", "--signs", "How many signs follow each text.", "1<=x<=5", "--more", "--keys", "--quiet"):
        assert each in shown, each
    assert "not at all" in shown
    given = ("shout", "ant", "--more", "bee", "--keys", "k", "--signs", 2)
    places: list[tuple[str, object]] = [("-i", faces.collection.path), ("-i", faces.shards.path)]
    for place in [*places, *([("--server", faces.running.url)] if faces.running else [])]:
        assert json.loads(_run(*given, *place, "--json")) == {"texts": ["ANT!!", "BEE!!"], "documents": ["DOG"]}
        assert _run(*given, *place) == "texts:\n  ANT!!\n  BEE!!\ndocuments:\n  DOG\n"
    failed = CliRunner().invoke(app, ["shout", "ant", "--quiet", "0.5", "-i", str(faces.collection.path)])
    assert isinstance(failed.exception, NoKnownWords)


def test_a_command_that_cannot_be_loaded_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(write_installed(tmp_path, "broken", {"bark": "nowhere:app"}, "commands"))
    shown = " ".join(_run("--help").replace("│", "").split())
    assert "Unusable: the command 'bark' of the package broken 1.0 cannot be loaded" in shown
    failed = CliRunner().invoke(app, ["bark"]).exception
    assert isinstance(failed, PlugInError)
    assert "No module named 'nowhere'" in str(failed)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("tests.indexer.plugins.operations.shout:Shouted", "no class with the method run"),
        ("tests.indexer.plugins.operations.shout:Missing", "cannot be loaded"),
        ("moverank.indexer.operations.search:Similar", "has another name, 'similar'"),
    ],
)
def test_an_unusable_one_names_its_package(
    value: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(write_installed(tmp_path, "broken", {"bark": value}, "operations"))
    with pytest.raises(PlugInError, match=sentence):
        operation_named("bark")
    assert "Unusable: the operation 'bark' of the package broken 1.0" in " ".join(_run("--help").split())
    assert isinstance(CliRunner().invoke(app, ["bark"]).exception, PlugInError)


@pytest.mark.plugin("watching")
def test_what_changes_one_database_is_refused_by_shards_and_servers(faces: Faces) -> None:
    assert faces.collection.watches() == []
    with pytest.raises(UsageError, match="shards have no watches of their own: add a watch to the place of each"):
        faces.shards.watches()
    for each in faces.remotes:
        with pytest.raises(UsageError, match="a server does not answer `watches`: run it where the collection is"):
            each.watches()


def test_the_short_form_of_a_removed_plug_in_is_one_sentence(faces: Faces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLUG_INS, "_loaded", {})
    monkeypatch.setattr(PLUG_INS, "_points", list)
    for each in faces.all:
        with pytest.raises(
            PlugInError,
            match=r"^there is no operation 'events'.*: choose search, .*, or install the package that provides it",
        ):
            each.events()
