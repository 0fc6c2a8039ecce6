"""Encoders of other packages: the package of the manual, missing and broken ones."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.first_stages import PLUG_INS, choose_encoder, encoder_class, is_encoder
from moverank.rerank.encoders.fisher import Fisher
from moverank.rerank.errors import EncoderError
from moverank.testing import ENCODER_CHECKS, SCORER_CHECKS, check_encoder, random_documents
from tests.contracts.example_files import write_files
from tests.indexer.commands.program import Answer, program
from tests.rerank.encoders.packages import install_example, own_tests, write_installed

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "moverank")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the package's source, `methods`, and with what pip installed of it, `installed`."""
    return install_example(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the files of the manual's examples."""
    directory = tmp_path_factory.mktemp("place")
    write_files(directory)
    return directory


def run(place: Path, *command: str, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command in a directory; `path` is on the import path."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST_", "COV_"))
    }
    environment |= {"PYTHONPATH": str(path)} if path else {}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def test_the_package_of_the_manual_passes_its_own_tests(package: Path) -> None:
    assert f"{2 * len(ENCODER_CHECKS) + 2 * len(SCORER_CHECKS)} passed" in own_tests(package)


def test_the_largest_values_are_not_smaller(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(package / "installed")
    documents = random_documents(seed=0)
    fitted = (encoder_class("maxpool").fit(documents, {"pool": pool}) for pool in ("max", "min"))
    largest, smallest = (encoder.encode(documents) for encoder in fitted)
    assert (largest >= smallest).all()
    assert (largest > smallest).any()


def test_an_installed_encoder_is_found_by_processes(package: Path, place: Path) -> None:
    def call(*arguments: str, path: Path | None = package / "installed") -> "subprocess.CompletedProcess[str]":
        return run(place, *COMMAND, *arguments, "-i", "processes", "--json", path=path)

    new = (
        "--embedding",
        "glove.6B.300d.txt.gz",
        "--first-stage",
        "maxpool",
        "--setting",
        "first_stage_options=pool=min",
    )
    made = call("index", "docs.jsonl.gz", *new)
    assert json.loads(made.stdout)["added"] == 36, made.stderr
    assert call("refit").returncode == 0  # writes a snapshot
    search = ("search", "plug", "-k", "3", "--depth", "5")
    found = json.loads(call(*search).stdout)
    assert (len(found["hits"]), found["scope"]) == (3, "candidates")
    missing = call(*search, path=None)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("moverank: there is no encoder 'maxpool': choose centroid, ")
    assert missing.stderr.endswith("or install the package that provides it\n")


def test_an_installed_encoder_is_used_from_the_command_line(
    package: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delitem(sys.modules, "moverank_methods", raising=False)
    moverank = program(monkeypatch, capsys)

    def call(*arguments: str, path: Path | None = package / "installed") -> Answer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PLUG_INS, "_loaded", {})
            if path:
                patch.syspath_prepend(path)
            return moverank(*arguments, "-i", "x")

    new = ("--embedding", "glove.6B.300d.txt.gz", "--first-stage", "maxpool")
    wrong = call("index", "docs.jsonl.gz", *new, "--setting", "first_stage_options=pool=mean")
    assert (wrong.code, wrong.err) == (2, "moverank: the first stage: pool must be max or min, not 'mean'\n")
    made = call("index", "docs.jsonl.gz", *new, "--setting", "first_stage_options=pool=min", "--json")
    assert made.json["added"] == 36, made.err
    assert call("refit").code == 0  # writes a snapshot
    search = ("search", "plug", "-k", "3", "--json")
    found = call(*search, "--depth", "5").json
    assert (len(found["hits"]), found["scope"]) == (3, "candidates")
    ranked = call(*search, "--rank", "wmd+0.5*maxpool:pool=min").json
    assert set(ranked["hits"][0]["parts"]) == {"wmd", "maxpool"}
    assert call("check").out == "nothing is wrong\n"
    assert len(call(*search, path=None).json["hits"]) == 3
    missing = call(*search, "--depth", "5", path=None)
    assert (missing.code, missing.out) == (1, "")
    assert "there is no encoder 'maxpool'" in missing.sentence
    for command in (("index", "records.jsonl"), ("remove", "plug-hot")):
        (place / "records.jsonl").write_text('{"id": "new", "text": "plug"}\n')
        refused = call(*command, path=None)
        assert refused.code == 2
        assert "there is no encoder 'maxpool'" in refused.err
    assert call("info", "--json", path=None).json["documents"] == 36
    named_rank = call(*search, "--rank", "wmd+maxpool", path=None)
    assert (named_rank.code, "there is no ranking 'maxpool'" in named_rank.err) == (2, True)


@pytest.mark.parametrize(
    ("point", "module", "reason"),
    [
        ("gone:Encoder", "", "cannot be loaded: ModuleNotFoundError: No module named 'gone'"),
        ("broken{}:Encoder", "x = 1", "cannot be loaded: AttributeError: module 'broken"),
        ("broken{}:Encoder", "raise RuntimeError('no GPU')", "cannot be loaded: RuntimeError: no GPU"),
        ("broken{}:Encoder", "Encoder = 3", "is no class with the method fit"),
        ("broken{}:Encoder", "class Encoder:\n  fit = encode = state = str", "is no class with the method restore"),
        (
            "broken{}:Encoder",
            "def Encoder(): pass\nEncoder.fit = Encoder.encode = Encoder.state = Encoder.restore = str",
            "is no class (",
        ),
        ("broken{}:Encoder", "class Encoder:\n  fit = encode = state = restore = str", "has another name, None"),
        (
            "broken{}:Encoder",
            "class Encoder:\n  fit = encode = state = restore = str\n  name, options = 'bad{}', ['k']",
            "needs a tuple of options",
        ),
    ],
)
def test_a_broken_package_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    point: str,
    module: str,
    reason: str,
) -> None:
    number = abs(hash(request.node.name))  # each has a module of its own: Python imports it only once
    name, value = f"bad{number}", point.format(number)
    modules = {f"broken{number}": module.replace("{}", str(number))}
    monkeypatch.syspath_prepend(write_installed(tmp_path, "bad-encoders", {name: value}, **modules))
    assert is_encoder(name)
    with pytest.raises(EncoderError) as raised:
        choose_encoder(name, {})
    assert str(raised.value).startswith(f"the encoder {name!r} of the package bad-encoders 1.0 {reason}")
    assert "\n" not in str(raised.value)
    with pytest.raises(EncoderError, match=f"there is no encoder 'nope': choose centroid, .*{name}"):
        encoder_class("nope")


def test_a_broken_package_does_no_harm_to_others(tmp_path: Path, place: Path) -> None:
    """It is not even imported unless it is named."""
    points = {"bad": "loud:Encoder", "fisher": "loud:Encoder"}
    path = write_installed(tmp_path, "bad-encoders", points, loud="raise SystemExit('imported')")
    for arguments in (["--help"], ["index", "--help"]):
        assert run(place, *COMMAND, *arguments, path=path).returncode == 0
    new = ("--embedding", "glove.6B.300d.txt.gz", "--first-stage", "fisher", "--setting", "first_stage_options=k=2")
    made = run(place, *COMMAND, "index", "docs.jsonl.gz", "-i", "harmless", *new, path=path)
    assert made.returncode == 0, made.stderr


def test_no_package_replaces_a_built_in_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(write_installed(tmp_path, "bad-encoders", {"fisher": "gone:Encoder"}))
    assert PLUG_INS.names().count("fisher") == 1
    assert encoder_class("fisher") is Fisher


def test_two_packages_with_one_name_are_both_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("one-encoders", "other-encoders"):
        monkeypatch.syspath_prepend(write_installed(tmp_path / package, package, {"doubled": f"{package[:3]}:Encoder"}))
    with pytest.raises(EncoderError, match=r"by one-encoders 1.0 and other-encoders 1.0: uninstall all but one"):
        encoder_class("doubled")


def _fit_any(_: type[Fisher], documents: Documents, __: Mapping[str, str]) -> Fisher:
    """Fit without a look at the options."""
    return Fisher.fit(documents, {"k": "3", "dim": "2"})


def test_the_contract_says_what_is_wrong() -> None:
    """Each fault of an encoder is found, and named in a sentence."""

    def faulty(**changes: object) -> type[Fisher]:
        return type("Faulty", (Fisher,), changes)

    small = {"k": "3", "dim": "2"}
    check_encoder(Fisher, small)
    encode, state = Fisher.encode, Fisher.state
    faults: list[tuple[dict[str, object], str]] = [
        ({"name": "a b"}, "name must be an identifier"),
        ({"options": ("k",)}, "options must be a tuple"),
        ({"encode": lambda self, documents: encode(self, documents).astype(np.float64)}, "must return float32"),
        ({"encode": lambda self, documents: encode(self, documents)[:, :-1]}, r"the shape \(n, dim\)"),
        ({"encode": lambda self, documents: encode(self, documents) * np.float32(2)}, "must have length 1"),
        ({"encode": lambda self, documents: np.full_like(encode(self, documents), np.nan)}, "not finite"),
        (
            {"encode": lambda self, documents: np.roll(encode(self, documents), len(documents), axis=1)},
            "must have the same bits",
        ),
        ({"state": lambda self: state(self) | {"x": np.array(["a"])}}, "state must hold arrays of numbers only"),
        ({"fit": classmethod(_fit_any)}, "must raise EncoderError for nope"),
    ]
    for changes, reason in faults:
        with pytest.raises(AssertionError, match=reason):
            check_encoder(faulty(**changes), small)
