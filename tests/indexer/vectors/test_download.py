import json
import logging
import socket
import sys
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from gensim import downloader

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.importing import import_vectors, same_source
from tests.indexer.vectors.static_models import write_model

NAMES = {
    "corpora": {"text8": {"file_name": "text8.gz", "parts": 1}},
    "models": {
        "tiny-5": {"file_name": "tiny-5.gz", "parts": 1},
        "new-5": {"file_name": "new-5.gz", "parts": 1},
        "__testing": {"file_name": "x.gz", "parts": 1},
    },
}


@pytest.fixture
def gensim_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No network, and the list of names that an earlier run has cached."""

    def absent(*_: object, **__: object) -> None:
        raise urllib.error.URLError("Name or service not known")

    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setattr(downloader, "BASE_DIR", str(data))
    monkeypatch.setattr(downloader, "urlopen", absent)
    monkeypatch.setattr(downloader.urllib, "urlretrieve", absent)
    (data / "information.json").write_text(json.dumps(NAMES))
    return data


def test_a_downloaded_model_needs_no_network(gensim_data: Path, keyed: Any, tmp_path: Path) -> None:
    (gensim_data / "tiny-5").mkdir()
    keyed.save_word2vec_format(str(gensim_data / "tiny-5" / "tiny-5.gz"), binary=False)
    (gensim_data / "tiny-5" / "__init__.py").write_text("raise SystemExit('code of the model was run')")
    embedding = import_vectors("gensim:tiny-5", tmp_path / "out")
    assert list(embedding.words) == keyed.index_to_key
    assert same_source(tmp_path / "out", "gensim:tiny-5")
    assert not same_source(tmp_path / "out", "gensim:new-5")


@pytest.mark.usefixtures("gensim_data")
def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=r"'no-5' is not a model of gensim; .* are new-5, tiny-5$"):
        import_vectors("gensim:no-5", tmp_path / "out")
    with pytest.raises(VectorsError, match="'text8' is a corpus of gensim; "):
        import_vectors("gensim:text8", tmp_path / "out")


@pytest.mark.usefixtures("gensim_data")
def test_a_failed_download_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match=r"gensim:new-5 is not available \(.*Name or service not known.*connect"):
        import_vectors("gensim:new-5", tmp_path / "out")


def test_without_a_network_no_names_are_known(
    gensim_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (gensim_data / "information.json").unlink()
    logging.disable(logging.NOTSET)
    with pytest.raises(VectorsError, match="such as glove-wiki-gigaword-100"):
        import_vectors("gensim:glove-wiki-gigaword-50", tmp_path / "out")
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "out").exists()


def test_the_output_of_the_downloader_becomes_progress(
    gensim_data: Path, keyed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(name: str, return_path: bool) -> str:
        assert return_path
        assert socket.getdefaulttimeout()
        sys.stdout.write("\r[====----] 25.0% 3.0/12.0MB downloaded")  # as gensim does
        sys.stdout.write("\n")
        sys.stdout.flush()
        keyed.save_word2vec_format(str(gensim_data / name), binary=True)
        return str(gensim_data / name)

    monkeypatch.setattr(downloader, "load", load)
    reports: list[tuple[object, ...]] = []
    import_vectors("gensim:new-5", tmp_path / "out", progress=lambda *report: reports.append(report))
    assert reports[0] == ("Downloading new-5", 3, 12, "MB")
    assert capfd.readouterr().out == ""
    assert socket.getdefaulttimeout() is None


@pytest.fixture
def hub() -> Any:
    pytest.importorskip("tokenizers", reason="needs the extra static")
    return pytest.importorskip("huggingface_hub", reason="needs the extra static")


def test_a_model_of_the_hub_is_fetched_without_code(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot(name: str, allow_patterns: list[str]) -> str:
        assert name == "someone/tiny"
        assert all(pattern.endswith((".json", ".safetensors")) for pattern in allow_patterns)
        assert hub.utils.are_progress_bars_disabled()
        return str(write_model(tmp_path / "hub", "nested"))

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    tasks: list[str] = []
    embedding = import_vectors("hf:someone/tiny", tmp_path / "out", progress=lambda task, *_: tasks.append(task))
    assert "plug" in embedding.words
    assert tasks[0] == "Downloading someone/tiny"
    assert not hub.utils.are_progress_bars_disabled()
    assert same_source(tmp_path / "out", "hf:someone/tiny")
    assert not same_source(tmp_path / "out", "hf:someone/other")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(tmp_path))  # a model of another kind
    with pytest.raises(VectorsError, match="is a directory without a static embedding model"):
        import_vectors("hf:someone/other", tmp_path / "other")


@pytest.mark.parametrize("name", ["minishlab/potion-base-8M", "no name"])
def test_a_failed_download_from_the_hub(
    name: str, hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise hub.errors.LocalEntryNotFoundError("no connection\nPlease check it")

    monkeypatch.setattr(hub, "snapshot_download", absent)
    with pytest.raises(VectorsError, match=rf"hf:{name} is not available \(no connection\): connect to the network"):
        import_vectors(f"hf:{name}", tmp_path / "out")
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "out").exists()
