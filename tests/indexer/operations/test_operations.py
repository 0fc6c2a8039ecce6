"""An operation of another package: its endpoint, its OpenAPI and its call by the client are made of its record."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")

from moverank import Collection, Document, UnknownKey
from moverank.indexer.operations.operation import NO_LIMITS, OperatedState, Operation, WorkLimits
from moverank.indexer.option import Option
from moverank.indexer.ranked_texts import QueryText, SomeTexts, query_document
from moverank.indexer.server import operations_api
from moverank.indexer.server.client import RemoteCollection
from moverank.indexer.shards.cluster import Cluster
from moverank.rerank.answer import OPTIONAL, Answer
from moverank.rerank.errors import NoKnownWords
from tests.indexer.server.pages_world import PagesServer, pages_server
from tests.indexer.shards.conftest import created, keep_local
from tests.indexer.world import CollectionFactory, document


@dataclass(frozen=True, slots=True)
class Shouted(Answer):
    """Texts in capitals."""

    texts: tuple[str, ...]
    """The texts, each with its signs."""
    documents: Annotated[tuple[str, ...], OPTIONAL] = ()
    """The titles of stored documents; empty without keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shout(Operation[Shouted]):
    """Repeat texts, and titles of documents, in capitals."""

    NAME: ClassVar = "shout"
    ANSWER: ClassVar = Shouted

    text: Annotated[QueryText, Option("The first text.", noun="the text")]
    more: Annotated[SomeTexts, Option("Further texts.", noun="text")] = ()
    keys: Annotated[tuple[str, ...], Option("The keys of documents.", noun="text")] = ()
    signs: Annotated[int, Option("How many signs follow each text.", least=1, most=5)] = 1
    quiet: Annotated[float | None, Option("How quiet it is.", "not at all", above=0, key="hush")] = None

    def run(self, state: OperatedState, limits: WorkLimits = NO_LIMITS) -> Shouted:  # noqa: ARG002 - it needs none
        """Return the texts in capitals."""
        if self.quiet is not None:
            raise NoKnownWords(f"as quiet as {self.quiet:g}")
        with state.contents() as contents:
            titles = tuple(contents.describe(key).document.title.upper() for key in self.keys)
        more = [self.more] if isinstance(self.more, str | Document) else self.more
        texts = (query_document(one).parts[0].text.upper() for one in (self.text, *more))
        return Shouted(tuple(text + "!" * self.signs for text in texts), titles)


@dataclass(frozen=True)
class Faces:
    collection: Collection
    shards: Cluster
    remote: RemoteCollection
    remote_shards: RemoteCollection
    server: PagesServer


@pytest.fixture(scope="module")
def faces(factory: CollectionFactory) -> Iterator[Faces]:
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        keep_local(patch)
        patch.setattr(operations_api, "router", operations_api.operations_router((Shout,)))
        collection, shards = opened.enter_context(factory.empty()), opened.enter_context(created(factory))
        for each in (collection, shards):
            each.index([Document("k", "Dog", document("k", "ant bee cat").parts), document("l", "ant cat")])
        places = {"one": collection.path, "shards": shards.path}
        server = opened.enter_context(pages_server(places))
        remote, remote_shards = (RemoteCollection(server.url, name, None) for name in places)
        yield Faces(collection, shards, remote, remote_shards, server)


def test_every_face_runs_it(faces: Faces) -> None:
    operation = Shout(text="ant", more=[Document("", "", document("", "bee").parts)], keys=("k",), signs=2)
    expected = Shouted(("ANT!!", "BEE!!"), ("DOG",))
    for each in (faces.collection, faces.shards, faces.remote, faces.remote_shards):
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
    assert answer["required"] == ["texts"]


def test_it_is_no_other_argument() -> None:
    with pytest.raises(TypeError, match="loud"):
        Shout(text="ant", loud=True)  # type: ignore[call-arg]
