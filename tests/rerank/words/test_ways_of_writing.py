"""Ways of writing a number, a quantity, a date or a limit that say the same, and ways that do not."""

import pytest

from moverank.rerank.words.tokenizer import tokenizer_of
from moverank.rerank.words.typed_units import units_of

SAME = {
    "en": """
        2 cubic metres | 2,000 litres
        1.5 ha | 15,000 square metres
        18 years or older | at least 18 years
        85 points or more | at least 85 points
        5 ppm | 5000 ppb
        a scale of 1 to 25,000 | a scale of 1:25,000
        one in four | 25 %
        prior to 5 May | before 5 May
        must not leave | may not leave
        must not leave | is forbidden to leave
        nobody paid | no one paid
        free of sugar | without sugar
        the twenty-first edition | the 21st edition
        two hundred and fifty pallets | 250 pallets
        twenty-five people | 25 people
        twelve hundred | 1,200
        1.5 billion | 1,500,000,000
        a dozen eggs | 12 eggs
        two dozen eggs | 24 eggs
        5-10 mg | 5 to 10 mg
        5–10 mg | between 5 and 10 mg
        5mg | 5 mg
        USD 5 | $5
        US$5 | 5 dollars
        US$ 5 million | 5 million dollars
        $5m | $5 million
        EUR 3.50 | €3.50
        3.50 euros | €3.50
        £20 | 20 GBP
        10,000 | 10 000
        50 % | half
        fifty percent | 50%
        1/2 | ½
        one half | 50 %
        3/4 | 75 %
        three quarters | 75 %
        two thirds | 2/3
        10^6 | 1,000,000
        10^6 | one million
        1e6 | 1000000
        5 x 10^3 | 5,000
        3:30 pm | 15:30
        3.30 p.m. | 15:30
        12 noon | 12:00
        midnight | 00:00
        8 am | 08:00
        90 minutes | 1.5 hours
        90 minutes | one and a half hours
        90 min | 1 h 30 min
        2 weeks | 14 days
        24 months | two years
        60 km/h | 60 kilometres per hour
        60 kph | 60 km/h
        100 km per hour | 100 km/h
        5 degrees Celsius | 5 °C
        5 degrees C | 5°C
        19th century | nineteenth century
        the 3rd time | the third time
        1st of May 2020 | 2020-05-01
        May 1, 2020 | 1 May 2020
        May 1st, 2020 | 2020-05-01
        12/31/2024 | 31 December 2024
        at least 5 mg | no less than 5 mg
        ≥ 5 mg | at least 5 mg
        5 mg or more | at least 5 mg
        more than 5 | > 5
        a maximum of 5 people | up to 5 people
        no more than 5 people | at most 5 people
        five-year plan | 5-year plan
        minus 5 °C | -5 °C
        0.5 kg | 500 g
        half a kilogram | 500 g
        1.0 kg | 1 kg
        5 per cent | 5%
        5 pct | 5%
        3 out of 4 | 75 %
        3 times | three times
        2 ft | 2 feet
        1,000 m² | 1,000 square metres
        5 m3 | 5 cubic metres
        3 kWh | 3 kilowatt hours
        5 mg/kg | 5 mg per kg
        5 mg/day | 5 mg daily
        5 mg/day | 5 mg per day
        5 mg a day | 5 mg per day
        Jan. 5, 2021 | 5 January 2021
        no more than 10 percent | <= 10 %
        less than half | below 50 %
        under 18 | below 18
        ten to twelve days | 10-12 days
        3:1 | three to one
        3 to 1 | 3:1
        120/80 | 120 over 80
        first | 1st
        a hundred | 100
        one hundred | 100
        1 million | a million
        0.05 | 5 %
        7 a.m. | 7 am
        quarter past three | 3:15
        half past three | 3:30
    """,
    "de": """
        am 24.12. | am 24. Dezember
        frei von Zucker | ohne Zucker
        jeder Mieter | alle Mieter
        zweihundertfünfzig | 250
        1.234,56 € | 1 234,56 €
        1'234,56 € | 1 234,56 EUR
        5 Prozent | 5 %
        fünf Prozent | 5%
        2,5 Mio. Euro | 2,5 Millionen €
        2,5 Mio € | 2.500.000 Euro
        3 Mrd. Dollar | 3 Milliarden Dollar
        die Hälfte | 50 %
        ½ | 1/2
        ein Viertel | 25 %
        drei Viertel | 75 %
        zwei Drittel | 2/3
        15:30 Uhr | 15.30 Uhr
        15 Uhr 30 | 15:30 Uhr
        15.30 Uhr | halb vier nachmittags
        90 Minuten | 1,5 Stunden
        90 Minuten | eineinhalb Stunden
        100 km/h | 100 Stundenkilometer
        100 km/h | 100 Kilometer pro Stunde
        5 Grad Celsius | 5 °C
        5 Grad | 5 °C
        minus 5 Grad | -5 °C
        3. Mai 2020 | 03.05.2020
        am 1. Mai | am ersten Mai
        mindestens 5 Tage | wenigstens fünf Tage
        höchstens 5 Tage | maximal fünf Tage
        nicht mehr als 5 Tage | höchstens 5 Tage
        über 5 Tage | mehr als 5 Tage
        zwei Wochen | 14 Tage
        ein Dutzend | 12
        10.000 Menschen | 10 000 Menschen
        zehntausend | 10.000
        anderthalb Millionen | 1,5 Mio.
        500 g | ein halbes Kilo
        2 m² | zwei Quadratmeter
        Abs. 2 | Absatz 2
        50 Cent | 0,50 €
        3:1 | drei zu eins
    """,
    "fr": """
        ne contient que du lait | contient seulement du lait
        n'accueille pas plus de 80 | accueille au plus 80
        une salle de 2 hl | une salle de 200 litres
        deux cent cinquante | 250
        1 234,56 € | 1 234,56 euros
        1 234,56 € | 1.234,56 EUR
        5 pour cent | 5 %
        cinq pour cent | 5%
        2,5 M€ | 2,5 millions d'euros
        3 milliards de dollars | 3 Md$
        la moitié | 50 %
        un quart | 25 %
        trois quarts | 75 %
        deux tiers | 2/3
        15h30 | 15 h 30
        15h30 | 15:30
        15 heures 30 | 15 h 30
        90 minutes | une heure et demie
        100 km/h | 100 kilomètres par heure
        100 km/h | 100 kilomètres à l'heure
        100 km/h | 100 kilomètres-heure
        5 degrés Celsius | 5 °C
        moins 5 degrés | -5 °C
        1er mai 2020 | 1 mai 2020
        le 3 mai 2020 | 03/05/2020
        au moins 5 jours | 5 jours au minimum
        au plus 5 jours | 5 jours maximum
        jusqu'à 5 jours | au maximum cinq jours
        plus de 5 jours | > 5 jours
        XIXe siècle | 19e siècle
        dix-neuvième siècle | 19e siècle
        quinze jours | 15 jours
        deux semaines | 14 jours
        quatre-vingt-dix | 90
        quatre-vingts | 80
        soixante-dix | 70
        une douzaine | 12
        10 000 personnes | 10.000 personnes
        dix mille | 10 000
        mille deux cents | 1 200
        un million et demi | 1,5 million
        500 g | un demi-kilo
        20 m² | 20 mètres carrés
        deux fois | 2 fois
    """,
}
DIFFERENT = {
    "en": """
        3.10 | 3.1
        agent 007 | agent 7
        3:1 | 1:3
        120/80 | 80/120
        at least 5 | at most 5
        more than 5 | 5 or more
        5 mg/kg | 5 mg
        5 mg daily | 5 mg weekly
        3:30 pm | 3:30 am
        one patient | two patients
        group 1 and 5 mg | 1 mg and 5 mg
        a third party | a third of the party
        not on 5 May | on 5 May
        before 5 May | after 5 May
        must leave | may leave
        need not leave | must not leave
        unless it rains | if it rains
        all members | most members
        not all members | no members
        the first instance | the second instance
        1 to 25,000 | 1 to 2,500
        the 21st edition | the 20th edition
        hydroxyzine | hydralazine
    """,
    "de": """
        anderthalb Stunden | zweieinhalb Stunden
        h\u00f6chstens f\u00fcnf Tage | mindestens f\u00fcnf Tage
        der Mieter zahlt nicht | der Mieter zahlt
        Hunde d\u00fcrfen die Wiese nicht betreten | Hunde d\u00fcrfen die Wiese betreten
        halb vier nachmittags | halb vier morgens
        einer der beiden | beide
    """,
    "fr": """
        le XIXe si\u00e8cle | le XXe si\u00e8cle
        Personne n'habite le phare | Une personne habite le phare
        sous 14 jours | apr\u00e8s 14 jours
        1 pour 7 | 7 pour 1
        le dix-septi\u00e8me jour | le septi\u00e8me jour
    """,
}


def _pairs(table: dict[str, str]) -> list[tuple[str, ...]]:
    return [
        (language, *line.strip().split(" | "))
        for language, lines in table.items()
        for line in lines.strip().split("\n")
    ]


def _keys(text: str, language: str) -> list[tuple[str, str, str]]:
    return sorted(one.key for one in units_of(text, tokenizer_of("auto", language)))


@pytest.mark.parametrize(("language", "one", "other"), _pairs(SAME))
def test_the_same_has_the_same_units(language: str, one: str, other: str) -> None:
    assert _keys(one, language) == _keys(other, language) != []


@pytest.mark.parametrize(("language", "one", "other"), _pairs(DIFFERENT))
def test_what_differs_has_other_units(language: str, one: str, other: str) -> None:
    assert _keys(one, language) != _keys(other, language)
