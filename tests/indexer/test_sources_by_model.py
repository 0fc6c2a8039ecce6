"""Any sequence of edits of a folder and runs over parts of it leaves the documents that a plain model expects."""

import shutil
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection
from moverank.indexer.commands.update import RunSources
from moverank.indexer.reading import read_documents
from tests.indexer.world import WORDS, CollectionFactory
from tests.samples import examples

FILES = ("n/a.txt", "n/b.txt", "n/s/a.txt", "n/s/c.txt", "n/s/t/d.txt", "o/a.txt")
# Each with the files that it names.
PARTS = {
    "n": {name for name in FILES if name.startswith("n/")},
    "n/s": {name for name in FILES if name.startswith("n/s/")},
    "n/*.txt": {"n/a.txt", "n/b.txt"},
    "n/**/a.txt": {"n/a.txt", "n/s/a.txt"},
    "./n/b.txt": {"n/b.txt"},
    "o": {"o/a.txt"},
    ".": set(FILES),
}


@dataclass(frozen=True)
class Step:
    """Write a word into some files, remove others, and then index a part, from a directory."""

    written: dict[str, str]
    removed: frozenset[str]
    part: str
    absolute: bool
    prune: bool


_STEP = st.builds(
    Step,
    st.dictionaries(st.sampled_from(FILES), st.sampled_from(WORDS), max_size=3),
    st.frozensets(st.sampled_from(FILES), max_size=2),
    st.sampled_from(list(PARTS)),
    st.booleans(),
    st.booleans(),
)


def _run(collection: Collection, step: Step, root: Path) -> None:
    path = str(root / step.part) if step.absolute else step.part
    origins = RunSources([path], prune=step.prune).origins(
        [each.source for each in collection.sources() if each.source is not None]
    )
    records = read_documents([path], origins=origins)
    collection.index(records, scope=origins.scope, prune=step.prune, confirmed=True)


@examples(0.3)
@given(st.lists(_STEP, min_size=1, max_size=5))
def test_runs_over_parts_of_a_folder(factory: CollectionFactory, steps: list[Step]) -> None:
    root = factory.path()
    root.mkdir()
    with chdir(root), factory.empty() as collection:
        _check(collection, steps, root)
    shutil.rmtree(root)


def _check(collection: Collection, steps: list[Step], root: Path) -> None:
    stored: dict[str, str] = {}
    for step in steps:
        for name, word in step.written.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(word)
        for name in step.removed:
            Path(name).unlink(missing_ok=True)
        present = {name: Path(name).read_text() for name in PARTS[step.part] if Path(name).exists()}
        if present:
            _run(collection, step, root)
            if step.prune:
                stored = {name: word for name, word in stored.items() if name not in PARTS[step.part]}
            stored |= present
    with collection.reading() as reader:
        texts = {fields.key: reader.texts([id_])[id_] for id_, fields in reader.shown(list(reader.ids())).items()}
    assert len(texts) == len(stored)
    assert {key.removeprefix(f"{root}/"): text for key, text in texts.items()} == {
        name: [word] for name, word in stored.items()
    }
