"""The contract of every encoder."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from moverank.rerank.bags.bag import Bag
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.first_stages import PLUG_INS, choose_encoder, encoder_class
from moverank.rerank.errors import EncoderError
from moverank.rerank.testing.encoder_checks import (
    ENCODER_CHECKS,
    EncoderCheck,
    check_independent_rows_of,
    check_vectors_of,
    state_bytes,
)
from moverank.rerank.testing.sample_documents import make_documents, random_documents, with_unseen_words
from tests.rerank.encoders.worlds import CASES, documents
from tests.rerank.problems import make_vectors
from tests.samples import examples

Options = Mapping[str, str]
_USUAL = [("centroid", {}), ("fisher", {"k": "5", "dim": "3"}), ("lsi", {"dim": "4"})]
every_case = pytest.mark.parametrize(
    ("name", "options"), [pytest.param(*case, marks=[] if case in _USUAL else pytest.mark.slow) for case in CASES]
)
every_encoder = pytest.mark.parametrize("name", PLUG_INS.names())


def fitted(name: str, options: Options, training: Documents) -> Encoder:
    return choose_encoder(name, options).fit(training, options)


def test_every_encoder_is_in_the_contract() -> None:
    assert {name for name, _ in CASES} == set(PLUG_INS.names())
    assert all(encoder_class(name).name == name for name in PLUG_INS.names())


@every_case
@pytest.mark.parametrize("check", ENCODER_CHECKS, ids=lambda check: check.__name__)
def test_every_encoder_keeps_the_contract(name: str, options: Options, check: EncoderCheck) -> None:
    check(encoder_class(name), options)


@every_case
@examples(0.5)
@given(documents())
def test_drawn_documents_have_valid_and_independent_vectors(name: str, options: Options, training: Documents) -> None:
    encoder = fitted(name, options, training)
    for batch in (training, random_documents(7, d=training.vectors.shape[1]), with_unseen_words(training)):
        check_vectors_of(encoder, batch)
    check_independent_rows_of(encoder, training)


@every_encoder
def test_an_unknown_option_is_rejected_with_a_list_of_the_valid_ones(name: str) -> None:
    with pytest.raises(EncoderError, match=f"{name} has no option 'nope'") as error:
        choose_encoder(name, {"nope": "1"})
    assert all(option.name in str(error.value) for option in encoder_class(name).options)


def test_an_unknown_encoder_is_rejected() -> None:
    for use in (encoder_class, lambda name: choose_encoder(name, {})):
        with pytest.raises(EncoderError, match="there is no encoder 'bm25': choose centroid, fisher, lsi, "):
            use("bm25")


def test_other_options_seeds_and_documents_give_other_encoders() -> None:
    states = [state_bytes(fitted(name, options, random_documents(0))) for name, options in CASES]
    small = {"k": "5", "dim": "3"}
    states += [state_bytes(fitted("fisher", small | {"seed": seed}, random_documents(0))) for seed in "12"]
    states.append(state_bytes(fitted("fisher", small, random_documents(1))))
    assert all(one != other for one, other in combinations(states, 2))


def test_inconsistent_documents_are_rejected() -> None:
    good = make_documents([Bag.of([0, 1], [1, 1])], make_vectors(np.random.default_rng(0), 2, 3, "normal", 1.0))
    bags, lengths, ids, vectors = good.bags, good.lengths, good.word_ids, good.vectors
    with pytest.raises(EncoderError, match="1 documents need one length each"):
        Documents(bags, np.ones(2), ids, vectors)
    with pytest.raises(EncoderError, match="one vector for each word id"):
        Documents(bags, lengths, ids[:1], vectors)
    with pytest.raises(EncoderError, match="must increase"):
        Documents(bags, lengths, ids[::-1], vectors)
    with pytest.raises(EncoderError, match="indices from 0 to 0"):
        Documents(bags, lengths, ids[:1], vectors[:1])
