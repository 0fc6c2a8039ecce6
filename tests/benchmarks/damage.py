"""Shows whether damage is found: bits flipped, bytes overwritten and files cut in every region of every derived file.

Each sample hurts one file of a fresh copy of a small collection: of the snapshot or of the word vectors. It is found
if a search says so (by a note, or by an error where word vectors are hurt), and by `check`. A search that answers must
answer as before.
"""

import argparse
import logging
import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.hard_life import answers, documents, forked, made, prepare  # isort: split

from moverank import Collection, IndexerError
from moverank.indexer.maintenance import check
from tests.benchmarks.common import show, show_table, verdict
from tests.indexer.world import WORDS

HEADS = ("file", "samples", "found by searching", "found by check", "wrong answers", "")
_REGIONS = 8


class Heard(logging.Handler):
    """Counts what the library tells."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a sentence."""
        self.told.append(record.getMessage())


def hurt(path: Path, region: int, rng: random.Random) -> None:
    """Flip a bit, overwrite bytes, or cut, within one of the regions of a file."""
    data = bytearray(path.read_bytes())
    place = min(len(data) - 1, int((region % _REGIONS + rng.random()) * len(data) / _REGIONS))
    kind = rng.choice(["flip", "overwrite", "cut"])
    if kind == "flip":
        data[place] ^= 1 << rng.randrange(8)
    elif kind == "overwrite":
        end = min(len(data), place + rng.randrange(1, 200))
        data[place:end] = bytes(byte ^ 0x5A for byte in data[place:end])
    else:
        del data[place:]
    path.write_bytes(data)


def judge(place: Path, right: str) -> str:
    """Search and check; return what was found by which, and whether the answers were right."""
    heard = Heard()
    logging.getLogger("moverank").addHandler(heard)
    checked = bool(check(place).told())
    try:
        with Collection.open(place) as collection:
            wrong = asked(collection) != right
            found = bool(heard.told)
    except IndexerError:
        wrong, found = False, True
    return f"{int(found)} {int(checked)} {int(wrong)}"


def asked(collection: Collection) -> str:
    """Ask so that every file is read: with ranks weighed otherwise, every word, and a scorer of all words."""
    found = [(hit.key, round(hit.distance, 9)) for hit in collection.search("ant bee", k=200, gamma=3.0).hits]
    everything = [(hit.key, round(hit.distance, 9)) for hit in collection.search(" ".join(WORDS), k=200).hits]
    scored = [(hit.key, round(hit.distance, 9)) for hit in collection.search("ant bee", k=200, distance="bm25").hits]
    return repr((answers(collection), found, everything, scored))


def first(place: Path) -> str:
    """Return what the whole collection answers."""
    with Collection.open(place) as collection:
        return asked(collection)


def main() -> None:
    """Print a row for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200, help="how many (200)")
    parser.add_argument("--seed", type=int, default=0, help="of the places (0)")
    given = parser.parse_args()
    prepare()
    rng = random.Random(given.seed)  # noqa: S311 - a sample, no secret
    tally: dict[str, list[int]] = {}
    with TemporaryDirectory() as name:
        base = made(Path(name), "base", documents(range(40), 0))
        right = forked(lambda: first(base))
        files = sorted(path for path in base.rglob("*") if path.is_file() and path.parent != base)
        for sample in range(given.samples):
            place = shutil.copytree(base, base.with_name("sample"))
            file = files[sample % len(files)].relative_to(base)
            hurt(place / file, sample // len(files), rng)
            said = forked(lambda place=place: judge(place, right))  # type: ignore[misc]
            if said.startswith("!"):
                sys.stderr.write(f"{file}: {said}\n")
                said = "0 0 1"
            counts = tally.setdefault(f"{file.parent.name.split('-')[0]}/{file.name}", [0, 0, 0, 0])
            for i, count in enumerate((1, *map(int, said.split()))):
                counts[i] += count
            shutil.rmtree(place)
    rows = [[file, *counts, verdict(counts[:3] == [counts[0]] * 3 and not counts[3])] for file, counts in tally.items()]
    show_table(HEADS, rows)
    total = [sum(counts[i] for counts in tally.values()) for i in range(4)]
    show(f"{total[0]} samples: {total[1]} found by searching, {total[2]} by check, {total[3]} wrong answers")
    sys.exit(any(row[-1] != "ok" for row in rows))


if __name__ == "__main__":
    main()
