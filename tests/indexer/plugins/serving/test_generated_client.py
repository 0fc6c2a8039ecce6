"""A client that openapi-python-client generates from the running server searches, reranks, uploads and reads problems.

The generator is a program of its own, whose pins do not fit ours; its client needs httpx and attrs.
"""

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from subprocess import PIPE, STDOUT
from types import ModuleType
from typing import Any, get_type_hints

import pytest

pytest.importorskip("httpx", reason="the extra `clients` is not installed")
pytest.importorskip("attrs", reason="the extra `clients` is not installed")

from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer

GENERATOR = shutil.which("openapi-python-client")
SECRET = "a" * 16
LINES = b'{"id": "n1", "text": "a bird and a fish"}\n{"id": "n2", "text": "cheese"}\n'

pytestmark = pytest.mark.skipif(GENERATOR is None, reason="there is no program openapi-python-client")


class Generated:
    """The package that was generated, and a client of it which has the token of the server."""

    def __init__(self, url: str) -> None:
        self.models: Any = self._module("models")
        self.client = self._module("client").AuthenticatedClient(base_url=url, token=SECRET)
        self._file = self._module("types").File

    @staticmethod
    def _module(name: str) -> ModuleType:
        return importlib.import_module(f"generated_client.{name}")

    def call(self, tag: str, operation: str, *arguments: Any, **fields: Any) -> Any:
        """Return what the generated function of an operation returns: an answer or a problem, typed."""
        return self._module(f"api.{tag}.{operation}").sync(*arguments, client=self.client, **fields)

    def body(self, tag: str, operation: str, values: dict[str, Any]) -> Any:
        """Return values as the body of an operation, of the type that its function takes."""
        kind = get_type_hints(self._module(f"api.{tag}.{operation}").sync)["body"]
        return kind.from_dict(values)

    def file(self, content: bytes) -> Any:
        """Return content as the body of an upload."""
        return self._file(payload=BytesIO(content))


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Generated]:
    token = tmp_path / "token"
    token.write_text(SECRET)
    server = RunningServer("-i", make_collection(tmp_path), "--token-file", token, log=tmp_path / "log")
    try:
        document = server.ask("/openapi.json", headers={"Authorization": f"Bearer {SECRET}"}).body
        (tmp_path / "openapi.json").write_bytes(document)
        (tmp_path / "settings.yml").write_text("post_hooks: []\n")
        package = tmp_path / "packages" / "generated_client"
        command = [str(GENERATOR), "generate", "--path", "openapi.json", "--config", "settings.yml", "--meta", "none"]
        run = [*command, "--output-path", str(package)]
        notes = subprocess.run(run, cwd=tmp_path, stdout=PIPE, stderr=STDOUT, text=True, check=True).stdout
        assert notes.count("WARNING") == notes.count("Unsupported content type application/x-ndjson") == 1
        monkeypatch.syspath_prepend(package.parent)
        made = Generated(server.url)
        with made.client:
            yield made
    finally:
        server.stop()


def test_a_generated_client_searches_reranks_uploads_and_reads_problems(generated: Generated) -> None:
    models, call = generated.models, generated.call
    found = call("collections", "search", "pets", body=models.SearchBody(query="the dog", k=2, explain=True))
    assert isinstance(found, models.RankingObject)
    assert [hit.rank for hit in found.hits] == [1, 2]
    assert (found.hits[0].key, found.hits[0].metadata["year"], found.certified) == ("t1", 2020, True)
    assert found.hits[0].flows[0].source == "dog"
    assert call("collections", "search_by_url", "pets", q="dog", k=1).hits[0].key == "t1"
    both = call("collections", "search", "pets", body=models.SearchBody(queries=["dog", "xyzzy"], rank="wmd"))
    assert isinstance(both.answers[0], models.RankingObject)
    assert isinstance(both.answers[1], models.UnansweredObject)

    ranked = call("rerank", "rerank_texts", body=models.InferenceBody(query="dog", texts=["a bus", "a dog"]))
    assert [(type(one), one.index) for one in ranked] == [(models.RankedTextObject, 1), (models.RankedTextObject, 0)]
    body = models.InferenceBody(query="dog", documents=["a bus", "a dog"], top_n=1, return_documents=True)
    assert call("rerank", "rerank_texts", body=body).results[0].document == "a dog"
    assert (
        call("rerank", "rerank_as_jina", body=models.RerankTextsBody("dog", ["a bus", "a dog"])).results[0].index == 1
    )

    changes = call("documents", "add_documents", "pets", body=generated.file(LINES))
    assert (changes.added, changes.revision) == (2, 2)
    record = generated.body("documents", "put_document", {"text": "a slash", "year": 7})
    assert call("documents", "put_document", "pets", "n/3", body=record).added == 1
    assert call("documents", "delete_document", "pets", "n1").removed == 1

    problem = call("collections", "search", "pets", body=models.SearchBody(query="dog", k=0))
    assert isinstance(problem, models.ProblemObject)
    assert (problem.status, problem.detail[:2]) == (422, "k:")
    assert call("collections", "search", "none", body=models.SearchBody(query="dog")).status == 404
