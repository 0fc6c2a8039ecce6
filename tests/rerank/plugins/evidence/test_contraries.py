"""Claims that a source does not cover, though it has all their words in some form."""

import numpy as np
import pytest

from moverank.rerank.plugins.evidence.evidence import evidence_of
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import tokenizer_of

NOTHING = Embedding.of(["-"], np.zeros((1, 2), np.float32))
NOT_COVERED = {
    "en": """
        The buyer cannot terminate if the seller delivers. | The buyer cannot terminate if the seller does not deliver.
        The seller must not deliver unless the buyer pays. | The seller must not deliver unless the buyer does not pay.
        Tenants must not smoke and may pay. | Tenants must not smoke and may not pay.
        The lessee is not required to pay if the roof leaks. | The lessee is not required to pay if it does not leak.
        A member without a card must not enter. | A member with a card must not enter.
        Nobody who voted may speak. | Nobody who did not vote may speak.
        Nobody who voted may speak. | All who voted may speak.
        The buyer cannot terminate. | The buyer cannot terminate if the seller delivers.
        Tenants must not smoke. | Tenants must not smoke unless the landlord agrees.
        Nobody pays. | Nobody pays if it rains.
        The drug is effective and not all patients recover. | The drug is not effective and not all patients recover.
        The lease is valid and not all parties agree. | The lease is not valid and not all parties agree.
        It took 30 min 20 s. | It took 1 h 30 min 20 s.
        20 % of patients | 0.2 to 0.4 % of patients
        10,200 people | between one hundred and two hundred people
        The patient was discharged. | The patient was not charged.
        A committee was informed. | A committee was not formed.
        It is inflammable. | It is not flammable.
        a positive result | a position result
        important goods | import goods
        universal laws | university laws
        The employer pays. | The employed pay.
        rational food | ration food
        The drug may not work. | The drug could not work.
        an art museum | an article museum
        75 % in 2020 | on 3/4/2020
        -5 % of votes | plus or minus 5 % of votes
        Licensors pay. | Licensees pay.
    """,
    "de": """
        Ein Mieter mit Hund darf nicht einziehen. | Ein Mieter ohne Hund darf nicht einziehen.
        Der Mieter darf die gezahlte Miete nicht mindern. | Der Mieter darf die nicht gezahlte Miete mindern.
        Hier zu rauchen. | Es ist verboten, hier zu rauchen.
        Es gab einen Unfall. | Es gab keinen Fall.
        Der Staat f\u00f6rdert den Bau. | Der Staat fordert den Bau.
        Der Mieter ist f\u00e4llig. | Die Miete ist f\u00e4llig.
        Die Art des Vertrags | Der Artikel des Vertrags
        30 % der Seiten | Seite 3 von 10 der Seiten
    """,
    "fr": """
        Un locataire qui paie ne peut pas partir. | Un locataire qui ne paie pas ne peut pas partir.
        Le locataire ne peut pas partir. | Le locataire ne peut pas partir si le bailleur paie.
        La vitamine A est rare. | La vitamine B est rare.
        Il est riche. | Il n'est pas riche.
        Il travaille en septembre. | Il travaille sept jours.
        Il part \u00e0 3 heures. | Il part apr\u00e8s 3 heures de marche.
    """,
}


@pytest.mark.parametrize(
    ("language", "claim", "source"),
    [
        (language, *line.strip().split(" | "))
        for language, lines in NOT_COVERED.items()
        for line in lines.strip().split("\n")
    ],
)
def test_it_is_not_covered(language: str, claim: str, source: str) -> None:
    tokenizer = tokenizer_of("auto", language)
    assert evidence_of([(0, claim)], [("s", [(0, source)])], tokenizer, NOTHING, 0.0).covered < 1
    assert evidence_of([(0, claim)], [("s", [(0, claim)])], tokenizer, NOTHING, 0.0).covered == 1
