"""Shows Fisher vectors over LSI word vectors against LSI itself, as Clinchant & Perronnin 2013, table 2.

The word vectors of a set are trained on its documents by LSI (`indexer.vectors.lsi_training`), e dimensions. LSI is the encoder
of that name with e dimensions and `inverse=no`, the paper's V S; the Fisher vectors have K Gaussians over all e
dimensions. Mean average precision (%) as in scorers.py, over all words. A second table changes one choice at a time.
The paper's collections are others, and larger by far: CLEF 2003, TREC-1 & 2 and ROBUST.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.vectors.lsi_training import train_lsi
from moverank.rerank.encoders.encoder_registry import choose
from moverank.rerank.scorers import SCORERS
from moverank.rerank.words.tokenizer import Tokenizer, default_stop_words
from tests.benchmarks.common import real, show, show_table
from tests.benchmarks.embedded import EmbeddedSet
from tests.benchmarks.judged import SETS, JudgedSet, order

GAUSSIANS = (2, 4, 8, 16, 32)
DIMENSIONS = (10, 50, 200)
CHOICES_AT = (50, 16)
"""Dimensions and Gaussians of the second table."""
PAPER: tuple[tuple[object, ...], ...] = (
    ("CLEF 2003", 50, 16.4, 6.0, 8.6, 12.5, 16.5, 17.6, 16.8),
    ("CLEF 2003", 200, 16.4, 12.1, 18.2, 20.4, 22.9, 23.7, 21.9),
    ("TREC-1 & 2", 100, 12.4, 4.8, 7.2, 9.2, 10.4, 11.0, 10.8),
    ("TREC-1 & 2", 200, 12.4, 7.15, 8.9, 11.8, 12.3, 12.5, 12.3),
    ("ROBUST", 100, 12.6, 3.0, 4.5, 7.1, 8.1, 8.5, 9.1),
    ("ROBUST", 300, 12.6, 5.3, 6.8, 8.9, 10.0, 10.5, 10.5),
)
"""Collection, e, TF-IDF (table 3), LSI and Fisher vectors of so many Gaussians."""


def trained(judged: JudgedSet, dim: int, *, normalize: bool = True) -> EmbeddedSet:
    """Return a set over word vectors trained on its own documents."""
    counts = [{term: int(count) for term, count in document.items()} for document in judged.documents]
    with TemporaryDirectory() as place:
        embedding = train_lsi(lambda: counts, Path(place, "vectors"), dim=dim, normalize=normalize)
        return EmbeddedSet.of(judged, embedding)


def measured(judged: JudgedSet, known: EmbeddedSet, name: str, options: Mapping[str, object]) -> str:
    """Return the mean average precision of an encoder in percent."""
    typed = {key: str(value) for key, value in options.items()}
    encoder = choose(name, typed).fit(known.documents, typed)
    return f"{100 * judged.precision(known.encoded(encoder)):.1f}"


def by_tfidf(judged: JudgedSet) -> str:
    """Return that of cosines of tf-idf vectors, in percent."""
    segment = judged.collection(None).segment()
    scorer, found = segment.fit("tfidf", {"norm": "l2"}), {}
    for query in judged.relevant:
        ranked = order(scorer.score(segment.query(judged.queries[query])), SCORERS["tfidf"].ascending)
        found[query] = [judged.keys[row] for row in ranked.tolist()]
    return f"{100 * judged.precision(found):.1f}"


def show_sizes(sets: Mapping[str, JudgedSet], dimensions: Sequence[int]) -> None:
    """Print LSI beside Fisher vectors of all sizes, and then the paper's."""
    heads = ("e", "tf-idf", "LSI", *(f"FV K={k}" for k in GAUSSIANS))
    show("Mean average precision in percent; FV over unit LSI word vectors, otherwise the defaults of moverank.")
    for name, judged in sets.items():
        rows: list[Sequence[object]] = []
        tfidf = by_tfidf(judged)
        for dim in dimensions:
            known = trained(judged, dim)
            lsi = measured(judged, known, "lsi", {"dim": dim, "inverse": "no"})
            by_gaussians = [measured(judged, known, "fisher", {"dim": dim, "k": k}) for k in GAUSSIANS]
            rows.append([name, dim, tfidf, lsi, *by_gaussians])
        show_table(("set", *heads), rows)
        show()
    show_table(("the paper's", *heads), PAPER)


def show_choices(sets: Mapping[str, JudgedSet]) -> None:
    """Print what each choice is worth."""
    dim, k = CHOICES_AT
    fisher = {"dim": dim, "k": k}
    rows: dict[str, list[str]] = {}
    for name, judged in sets.items():
        known = trained(judged, dim)
        raw = trained(judged, dim, normalize=False)
        everything = JudgedSet.read(real("data", name), Tokenizer(frozenset()))
        cells = {
            "LSI, V S": measured(judged, known, "lsi", {"dim": dim, "inverse": "no"}),
            "LSI, V": measured(judged, known, "lsi", {"dim": dim}),
            "LSI, V S, without idf": measured(judged, known, "lsi", {"dim": dim, "inverse": "no", "idf": "no"}),
            "centroid of the word vectors": measured(judged, known, "centroid", {}),
            "FV": measured(judged, known, "fisher", fisher),
            "FV, one Gaussian": measured(judged, known, "fisher", fisher | {"k": 1}),
            "FV, idf in the bags": measured(judged, known.with_idf(), "fisher", fisher),
            "FV, mixture of running words": measured(judged, known, "fisher", fisher | {"frequency": 1}),
            "FV, no signed root": measured(judged, known, "fisher", fisher | {"power": "no"}),
            "FV, variances too": measured(judged, known, "fisher", fisher | {"variances": "yes"}),
            "FV, half of the axes": measured(judged, known, "fisher", fisher | {"dim": dim // 2}),
            "FV, word vectors U S as they are": measured(judged, raw, "fisher", fisher),
            "FV, as they are, of running words, no root": measured(
                judged, raw, "fisher", fisher | {"frequency": 1, "power": "no"}
            ),
            "FV, stop words kept": measured(everything, trained(everything, dim), "fisher", fisher),
        }
        for label, cell in cells.items():
            rows.setdefault(label, []).append(cell)
    show()
    show(f"One choice at a time, e = {dim}, K = {k}.")
    show_table(("", *sets), [[label, *cells] for label, cells in rows.items()])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--table", choices=("both", "sizes", "choices"), default="both", help="what to measure")
    parser.add_argument("--dimensions", nargs="*", type=int, default=DIMENSIONS)
    chosen = parser.parse_args()
    tokenizer = Tokenizer(default_stop_words())
    sets = {name: JudgedSet.read(real("data", name), tokenizer) for name in chosen.sets}
    if chosen.table != "choices":
        show_sizes(sets, chosen.dimensions)
    if chosen.table != "sizes":
        show_choices(sets)


if __name__ == "__main__":
    main()
