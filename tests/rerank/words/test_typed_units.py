"""Units of a text: each table has texts as people write them, with the units as they are meant."""

from datetime import date
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.errors import OutOfTime
from moverank.rerank.runtime.deadline import stopping
from moverank.rerank.words.tokenizer import Tokenizer, tokenizer_of
from moverank.rerank.words.typed_units import units_of
from moverank.rerank.words.unit import Unit

ENGLISH, GERMAN, FRENCH = (tokenizer_of("auto", code) for code in ("en", "de", "fr"))


def _typed(text: str, tokenizer: Tokenizer = ENGLISH) -> list[tuple[str, str]]:
    return [(one.kind, one.value) for one in units_of(text, tokenizer) if one.kind not in ("word", "name", "limit")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", "12"),
        ("1,000", "1000"),
        ("1,234,567.50", "2469135/2"),
        ("3.5", "7/2"),
        ("13.50", "13.50"),
        ("3.50 million", "3500000"),
        ("3.10", "3.10"),
        ("0.0", "0"),
        ("007", "007"),
        ("1\u00bd", "3/2"),
        ("10^6", "1000000"),
        ("10\u2076", "1000000"),
        ("5 \u00d7 10^6", "5000000"),
        ("3:1", "3:1"),
        ("four to one", "4:1"),
        ("120 over 80", "120:80"),
        ("3-1", "3:1"),
        ("3:30 pm", "15:30"),
        ("15:30", "15:30"),
        ("12 am", "00:00"),
        ("noon", "12:00"),
        ("a quarter to nine", "08:45"),
        ("-7", "-7"),
        ("(\u22127)", "-7"),
        ("5-7", "5"),
        ("2.5E3", "2500"),
        ("three", "3"),
        ("Twenty-one", "21"),
        ("ninety nine", "99"),
        ("two hundred", "200"),
        ("two hundred and fifty", "250"),
        ("twelve hundred", "1200"),
        ("two thousand five hundred", "2500"),
        ("two dozen", "24"),
        ("a million", "1000000"),
        ("3 million", "3000000"),
        ("2.5 thousand", "2500"),
        ("1.2.3", "1.2.3"),
        ("1499", "1499"),
        ("2100", "2100"),
    ],
)
def test_numbers_have_their_exact_value(text: str, value: str) -> None:
    assert ("number", value) in _typed(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("r=-0.45", "-9/20"),
        ("(r:-0.45)", "-9/20"),
        ("\u201c-45\u201d", "-45"),
        ('"-45"', "-45"),
        ("'\u2013.45'", "-9/20"),
        ("\u201345", "-45"),
        ("[3;\u221245]", "-45"),
        ("x,-45", "-45"),
        ("-10 000", "-10000"),
    ],
)
def test_a_minus_may_stand_after_other_signs(text: str, value: str) -> None:
    assert _typed(f"so {text}")[-1] == ("number", value)
    assert _typed(text)[-1] == ("number", value)


def test_each_number_has_its_own_minus() -> None:
    assert _typed("-5/-3") == [("number", "-5"), ("number", "-3")]
    assert _typed("5 %,-3 %") == [("quantity", "5 %"), ("quantity", "-3 %")]
    assert _typed("\u201c-5 \u00b0C\u201d to \u2013\u20ac5") == [("quantity", "-5 \u00b0C"), ("quantity", "-5 EUR")]


@pytest.mark.parametrize(
    "text",
    """3-5 3\u20135 3\u22125 costs--5 x\u2014-5 x\u2013-5 5%-7% 5\u00b0-7\u00b0 5\u20ac-7\u20ac (3)-5 [3]-5 {3}-5 5'-3'
    5\u2032-3\u2032 5\u2019-3\u2019 3\"-5\" 3.\u20135. +/-5 +-5 1990\u20131995 IL\u20136""".split(),  # noqa: SIM905
)
def test_a_dash_in_a_range_is_no_minus(text: str) -> None:
    assert _typed(text)
    assert not [value for _, value in _typed(text) if value.startswith("-")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10 000", ["10000"]),
        ("1 234 000", ["1234000"]),
        ("5 012 345", ["5012345"]),
        ("1 000 000.5", ["2000001/2"]),
        ("12 234", ["12", "234"]),
        ("130 912", ["130", "912"]),
        ("10 0000", ["10", "0000"]),
        ("1234 000", ["1234", "000"]),
        ("10  000", ["10", "000"]),
    ],
)
def test_groups_after_a_space_are_of_one_number_if_one_begins_with_0(text: str, values: list[str]) -> None:
    assert _typed(text) == [("number", value) for value in values]
    assert _typed(f"{text} km")[-1] == ("quantity", str(1000 * Fraction(values[-1])) + " m")


def test_digits_after_a_letter_and_a_hyphen_are_a_name() -> None:
    for text in (
        "COVID-19",
        "IL-6",
        "pre-2019",
        "covid\u201119",
        "Python-3.11",
        "covid-1,000",
        "python-1.2.3",
        "il-6s",
    ):
        (word, name) = units_of(text, ENGLISH)
        assert (word.kind, name.kind, name.end) == ("word", "name", len(text))
    assert _typed("5-7") == [("number", "5"), ("number", "7")]


def test_a_huge_exponent_makes_no_huge_value() -> None:
    assert _typed("1e999, 1E-100, 1e99") == [("number", "1e999"), ("number", "1E-100"), ("number", f"1{'0' * 99}")]


@pytest.mark.parametrize("text", ["3rd", "p53", "one of them", "h1n1", "no one", "tension", "weight"])
def test_other_words_are_no_numbers(text: str) -> None:
    assert _typed(text) == []


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (("1 kg", "1000 g", "1,000 grams", "1kg", "1000000 mg", "1\u00a0kg", "one kilogram"), "1000 g"),
        (("12%", "12 %", "12 percent", "12 per cent", "twelve percent", "120\u2030"), "12 %"),
        (("5 mg/kg", "5mg/kg", "0.005 g/kg"), "1/200000 g/g"),
        (("90 km/h", "25 m/s"), "25 m/s"),
        (("41 \u00b0F", "5 \u00b0C", "5\u00b0C", "5 \u00baC"), "5 \u00b0C"),
        (("2 days", "48 hours", "48 h", "two days", "48-hour", "2-day"), "172800 s"),
        (("2 years", "24 months", "two years"), "24 month"),
        (("12 inches", "1 foot", "30.48 cm"), "381/1250 m"),
        (("5 \u03bcg", "5 \u00b5g", "5 ug", "5 mcg"), "1/200000 g"),
        (("$5 million", "5 million dollars", "5000000 USD", "$5m", "$5 M", "US$5 mn", "$5000k"), "5000000 USD"),
        (("US$5", "$5", "$ 5", "5 $", "5 dollars"), "5 USD"),
        (("5 \u20ac", "5\u20ac", "\u20ac5", "\u20ac 5", "5 EUR"), "5 EUR"),
        (("A$5",), "5 A$"),
        (("-$5", "\u2212$5"), "-5 USD"),
        (("\u00a32bn", "2 billion GBP"), "2000000000 GBP"),
        (("25 kg/m\u00b2", "25 kg/m2", "25 kg/m^2"), "25000 g/m2"),
        (("9.8 m/s\u00b2", "9.8 m/s2", "9.8 m/s^2"), "49/5 m/s2"),
        (("9.8 m s\u207b\u00b9", "9.8 m s-1"), "49/5 m s-1"),
        (("5 m\u00b2", "5 m2", "5 m^2"), "5 m2"),
        (("5 cm\u00b2",), "1/2000 m2"),
        (("20 min-1", "20 min^-1", "20 min\u207b\u00b9"), "20 min-1"),
        (("5 mg/dose",), "5 mg/dose"),
        (("5 mg/kg/day",), "5 mg/kg/day"),
        (("5 \u00b0C/min",), "5 \u00b0C/min"),
        (("$5/month",), "5 USD/month"),
        (("5 m/s" + "/kg" * 20,), "5 m/s" + "/kg" * 20),
        (("1.5 GB", "1500 MB"), "1500000000 byte"),
        (("3 mM", "3000 \u00b5M"), "3/1000 mol/l"),
    ],
)
def test_quantities_are_the_same_in_any_unit(texts: tuple[str, ...], value: str) -> None:
    for text in texts:
        assert _typed(f"about {text} of it.") == [("quantity", value)], text


def test_digits_with_an_s_are_decades_rather_than_seconds() -> None:
    assert _typed("the 1990s, her 20s, 5 s") == [("number", "1990s"), ("number", "20s"), ("quantity", "5 s")]


def test_money_does_not_belong_to_the_number_before_it() -> None:
    assert _typed("12 $5 bills") == [("number", "12"), ("quantity", "5 USD")]
    assert _typed("5 kg/(m s)")[0] != ("quantity", "5000 g")


def test_symbols_have_their_case_and_end_a_word() -> None:
    assert _typed("5 mM") != _typed("5 mm")
    assert _typed("5 MB") != _typed("5 mb")
    assert _typed("5 kgx") == [("number", "5")]
    assert _typed("5 apples") == [("number", "5")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-03-12", "2020-03-12"),
        ("12 March 2020", "2020-03-12"),
        ("12th of March, 2020", "2020-03-12"),
        ("March 12, 2020", "2020-03-12"),
        ("Mar. 12th 2020", "2020-03-12"),
        ("12 Sept. 2020", "2020-09-12"),
        ("12.03.2020", "2020-03-12"),
        ("March 2020", "2020-03"),
        ("12 March", "--03-12"),
        ("May 5", "--05-05"),
        ("2020", "2020"),
        ("1984", "1984"),
    ],
)
def test_dates(text: str, value: str) -> None:
    assert _typed(f"It was on {text} here") == [("date", value)]


def test_what_is_no_date() -> None:
    assert _typed("Total: 12\n\nMarch 2020 report") == [("number", "12"), ("date", "2020-03")]
    assert _typed("on 12\nMarch, 2020") == [("date", "2020-03-12")]
    assert _typed("99.99.2020") != [("date", "2020-99-99")]
    assert _typed("2,020") == [("number", "2020")]
    assert _typed("2020 patients") == [("date", "2020")]
    assert _typed("2020 mg") == [("quantity", "101/50 g")]
    assert _typed("you may 5 times") == [("number", "5")]
    assert _typed("It ended in May. 12 people came.") == [("number", "12")]
    assert _typed("It ended on 12 March. 2020 patients came.") == [("date", "--03-12"), ("date", "2020")]


@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)))
def test_all_ways_of_writing_a_date_are_the_same(day: date) -> None:
    written = (f"{day:%Y-%m-%d}", f"{day.day} {day:%B %Y}", f"{day:%B} {day.day}, {day:%Y}", f"{day:%d.%m.%Y}")
    assert {tuple(_typed(one)) for one in written} == {(("date", day.isoformat()),)}


@given(st.integers(0, 10**9), st.integers(0, 6))
def test_a_number_with_decimals_has_its_value_in_both_ways_of_writing(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    whole, rest = divmod(digits, 10**places)
    decimals = f"{rest:0{places}}" if places else ""
    english = f"({whole:,}{'.' * bool(places)}{decimals} x)"
    german = f"({f'{whole:,}'.replace(',', '.')}{',' * bool(places)}{decimals} x)"
    assert _typed(english)[0] == _typed(german, GERMAN)[0]
    if 0 < value < 1:
        assert _typed(english)[0] == ("quantity", f"{100 * value} %")
    elif not decimals.endswith("0"):
        assert _typed(english)[0] == ("number", str(value))


def test_commas_by_language() -> None:
    assert _typed("3,5 kg und 1.000 Stück am 3. Mai 2020", GERMAN) == [
        ("quantity", "3500 g"),
        ("number", "1000"),
        ("date", "2020-05-03"),
    ]
    assert _typed("le 3 mars 2020", FRENCH) == [("date", "2020-03-03")]
    assert _typed("2.5 km", GERMAN) == [("quantity", "2500 m")]


def _negated(text: str, tokenizer: Tokenizer = ENGLISH) -> list[str]:
    return [one.value for one in units_of(text, tokenizer) if one.negated]


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("It is not effective", ["effective"]),
        ("It is effective", []),
        ("It didn't work", ["work"]),
        ("It didn\u2019t work", ["work"]),
        ("They cannot reproduce results", ["may", "reproduce", "results"]),
        ("Dogs mustn't enter, but cats may enter", ["dogs", "may", "enter"]),
        ("Smoking is forbidden here", ["smoking", "may"]),
        ("You needn't pay", ["must", "pay"]),
        ("You couldn\u2019t pay", ["pay"]),
        ("It is no longer open on Sundays", ["open"]),
        ("Not all members voted", ["all"]),
        ("Not any member voted", ["any", "member", "voted"]),
        ("no severe side effects today", ["severe", "side"]),
        ("without severe side effects today", ["severe"]),
        ("not effective, but cheap", ["effective"]),
        ("not effective (but cheap)", ["effective"]),
        ("never.\n\nCheap food", []),
        ("not only cheap food", []),
        ("no doubt cheap", []),
        ("neither cheap nor good", ["cheap", "good"]),
        ("no more than 5 mg", []),
        ("t effective", []),
        ("The drug was not 2.5 times higher", ["5/2", "times", "higher"]),
        ("no 1,000 people", ["1000", "people"]),
        ("not in 2 weeks reduce pain", ["1209600 s", "down", "pain"]),
        ("not on 12 March 2020 or 5 mg of wine", ["2020-03-12", "wine"]),
        ("not cheap. 5 people", ["cheap"]),
        ("not cheap 5.\n\nGood people", ["cheap"]),
        ("DON'T USE", ["use"]),
        ("They DIDN\u2019T work", ["work"]),
        ("It didn\u02bct work", ["work"]),
    ],
)
def test_a_negation_changes_the_words_after_it_in_its_clause(text: str, negated: list[str]) -> None:
    assert _negated(text) == negated


def _limits(text: str, tokenizer: Tokenizer) -> list[str]:
    return [one.value for one in units_of(text, tokenizer) if one.kind in ("limit", "number", "quantity")]


@pytest.mark.parametrize(
    ("tokenizer", "texts", "limits"),
    [
        (ENGLISH, ("at least 5 mg", "no fewer than 5 mg", "5 mg or more", ">= 5 mg", "\u2265 5 mg"), [">= 1/200 g"]),
        (ENGLISH, ("at most 5 %", "no more than 5 percent", "up to 5 %", "5 % or less"), ["<= 5 %"]),
        (ENGLISH, ("under 5", "fewer than five", "< 5"), ["< 5"]),
        (ENGLISH, ("at least 2000 people", "2,000 or more"), [">= 2000"]),
        (ENGLISH, ("5-10 mg", "between 5 and 10 mg", "5 to 10 mg", "5 mg to 10 mg"), ["1/200 g", "1/100 g"]),
        (ENGLISH, ("120/80 mmHg", "120 over 80 mmHg"), ["120:80 mmHg"]),
        (ENGLISH, ("1/2 mg", "0.5 mg", "\u00bd mg"), ["1/2000 g"]),
        (
            ENGLISH,
            ("no longer than 5 days", "not more than 5 days", "at most 5 days", "\u2266 5 days"),
            ["<= 432000 s"],
        ),
        (ENGLISH, ("5 mg at least 3 times",), ["1/200 g", ">= 3"]),
        (ENGLISH, ("12 % in 2019 and 15 % in 2020",), ["12 %", "15 %"]),
        (ENGLISH, ("not only adults", "not just adults"), ["also"]),
        (ENGLISH, ("CHF 5'000", "CHF 5,000", "5000 CHF"), ["5000 CHF"]),
        (ENGLISH, ("the 1\uff13th", "the 13th"), ["#13"]),
        (FRENCH, ("un million d'euros", "1 000 000 \u20ac"), ["1000000 EUR"]),
        (ENGLISH, ("may terminate", "is entitled to terminate", "can terminate"), ["may"]),
        (ENGLISH, ("must pay", "shall pay", "is required to pay"), ["must"]),
        (ENGLISH, ("all lamps", "every lamp", "each lamp"), ["all"]),
        (ENGLISH, ("every other lamp",), ["every other"]),
        (ENGLISH, ("the first instance", "the 1st instance"), ["#1"]),
        (ENGLISH, ("the 19th century",), ["#19"]),
        (ENGLISH, ("unless it rains", "except if it rains"), ["unless"]),
        (ENGLISH, ("costs rose", "costs increased"), ["up"]),
        (ENGLISH, ("USD 5", "$5", "5 dollars"), ["5 USD"]),
        (ENGLISH, ("60 mph", "60 miles per hour"), ["16764/625 m/s"]),
        (ENGLISH, ("\u22125 \u00b0C", "minus 5 \u00b0C", "-5 degrees Celsius"), ["-5 \u00b0C"]),
        (ENGLISH, ("half of it", "\u00bd of it", "1/2 of it", "50 % of it", "0.5 of it"), ["50 %"]),
        (GERMAN, ("mindestens 5 mg", "nicht weniger als 5 mg", "5 mg oder mehr"), [">= 1/200 g"]),
        (GERMAN, ("1 234,56 Euro", "1.234,56 \u20ac", "1\u00a0234,56 EUR", "1\u202f234,56 EUR"), ["30864/25 EUR"]),
        (GERMAN, ("5 Mio. Euro", "5 Millionen Euro", "5000000 \u20ac"), ["5000000 EUR"]),
        (GERMAN, ("zweihundertf\u00fcnfzig", "250"), ["250"]),
        (GERMAN, ("100 km/h", "100 Kilometer pro Stunde"), ["250/9 m/s"]),
        (GERMAN, ("in zweiter Instanz", "in der 2. Instanz"), ["#2"]),
        (GERMAN, ("es sei denn", "falls nicht"), ["unless"]),
        (GERMAN, ("darf", "ist berechtigt"), ["may"]),
        (FRENCH, ("au moins 5 mg", "pas moins de 5 mg"), [">= 1/200 g"]),
        (FRENCH, ("15 h 30", "15h30", "15:30"), ["15:30"]),
        (FRENCH, ("20 degr\u00e9s Celsius", "20 \u00b0C"), ["20 \u00b0C"]),
        (FRENCH, ("quatre-vingt-dix-sept", "97"), ["97"]),
        (FRENCH, ("\u00e0 moins que", "sauf si"), ["unless"]),
    ],
)
def test_what_limits_the_same_has_the_same_value(
    tokenizer: Tokenizer, texts: tuple[str, ...], limits: list[str]
) -> None:
    for text in texts:
        assert _limits(f"so {text}", tokenizer) == limits, text


def test_a_negation_after_the_verb_changes_the_words_before_it_if_none_follows() -> None:
    assert _negated("Der Mieter zahlt die Miete nicht und wohnt dort", GERMAN) == ["zahlt", "miete"]
    assert _negated("Er kam, der Mieter zahlt nicht", GERMAN) == ["mieter", "zahlt"]
    assert _negated("Das gilt nicht f\u00fcr sie.", GERMAN) == ["gilt"]
    assert _negated("Der Ausweis ist nicht g\u00fcltig, sagt er", GERMAN) == ["g\u00fcltig"]
    assert _negated("Nicht alle Mieter zahlen", GERMAN) == ["all"]
    assert _negated("Das Rauchen im Haus ist verboten, sagt er", GERMAN) == ["rauchen", "haus", "may"]


def test_affixes_and_words_of_one_word_negate() -> None:
    assert _negated("sugar-free drinks") == ["sugar"]
    assert _negated("a non-toxic gas") == ["toxic"]
    assert _negated("None of the patients died") == ["patients", "died"]


def test_names_have_a_capital_inside_a_sentence() -> None:
    kinds = {one.value: one.kind for one in units_of("Boats leave Oslo on Fridays. Boats return", ENGLISH)}
    assert kinds == {"boats": "word", "leave": "word", "oslo": "name", "friday": "name", "return": "word"}


def test_a_letter_or_a_roman_number_after_a_word_is_a_name() -> None:
    assert [one.value for one in units_of("vitamin A and part II", ENGLISH)] == ["vitamin", "a", "part", "ii"]


def test_no_negation_goes_on_to_the_next_item_of_a_list() -> None:
    assert _negated("- smoking: no\n- parking") == []
    assert _negated("| none | paid |") == []


def test_negations_of_other_languages() -> None:
    assert _negated("Das ist nicht wirksam", GERMAN) == ["wirksam"]
    assert _negated("Ce n'est pas efficace", FRENCH) == ["efficace"]
    assert _negated("not wirksam", GERMAN) == []
    assert _negated("(n = 25 patients) n malades", FRENCH) == []
    assert _negated("Ce n\u2019est pas efficace", FRENCH) == ["efficace"]
    assert _negated("avant qu'il ne parte", FRENCH) == []
    assert _negated("n'accueille pas plus de 80 personnes", FRENCH) == []
    assert _negated("n'est ouvert qu'aux femmes", FRENCH) == []
    assert [one.value for one in units_of("n'est ouvert qu'aux femmes", FRENCH)] == ["only", "ouvert", "femmes"]
    assert _negated("not valid", Tokenizer(language="ja")) == []


def test_stop_words_and_negations_are_no_units() -> None:
    assert [one.value for one in units_of("The cat is not on the mat of p53", ENGLISH)] == ["cat", "mat", "p53"]


@given(st.text(st.sampled_from("ab1 ,.-'\u2019n/%$\u00b0Ckgmt\n2M\u0660\u00df\u4e2d"), max_size=60))
def test_units_are_in_order_apart_and_where_they_say(text: str) -> None:
    for tokenizer in (ENGLISH, GERMAN, tokenizer_of("none", "zh", vocabulary=["\u4e2d"])):
        units = units_of(text, tokenizer)
        assert all(0 <= one.start < one.end <= len(text) for one in units)
        assert all(one.end <= other.start for one, other in pairwise(units))
        words = {word for start, end, word in tokenizer.spans(text)}
        assert all(one.value in words for one in units if one.kind == "word")
        names = [(one.value, text[one.start : one.end]) for one in units if one.kind == "name"]
        assert all(value in words or value in (written, written.lower()) for value, written in names)


@given(st.lists(st.sampled_from(["cat", "5 mg", "not", "2020", "the", "dog", "1,000"]), max_size=8))
def test_a_unit_does_not_depend_on_the_text_around_it_but_for_negations(words: list[str]) -> None:
    def alone(word: str) -> list[tuple[str, str]]:
        return [(one.kind, one.value) for one in units_of(word, ENGLISH)]

    units = units_of("; ".join(words), ENGLISH)
    assert [(one.kind, one.value) for one in units] == [key for word in words for key in alone(word)]
    assert not any(one.negated for one in units)


def test_a_unit_has_its_key() -> None:
    assert Unit(0, 3, "word", "cat", negated=True).key == ("word", "cat", "not")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "1." * 50_000 + "x",
        "1,111" * 20_000 + "x",
        "1,111," * 20_000 + "x",
        "5 million " + "million " * 50_000,
        "1e999 " * 10_000,
        "5 m" + "/s^2" * 50_000,
        "5 m" + " s-1" * 50_000,
        "5 m" + "\u207b\u00b9" * 50_000,
        "12\n" * 50_000,
        "." + "0" * 100_000 + "1",
        "12" + " " * 100_000 + "May",
        "12 of " * 20_000,
        "May " * 20_000,
        "twenty-" * 20_000,
        "5" + "a" * 100_000 + "1",
        "5 kg/" * 20_000,
        "5x/" * 20_000,
        "$5x/" * 20_000,
        "5m/" * 20_000 + "5m^2a",
        "5m\u00b2" + "\u00b2" * 50_000,
        "1 234 " * 20_000,
        "1 234 " * 20_000 + "000",
        "not " * 20_000,
    ],
)
def test_odd_long_texts_take_linear_time(text: str) -> None:
    units = units_of(text, ENGLISH)
    assert all(one.value for one in units)


@pytest.mark.parametrize("text", ["1 " * 5_000, "word " * 5_000])
def test_the_time_is_checked(text: str) -> None:
    with stopping(lambda: True), pytest.raises(OutOfTime):
        units_of(text, ENGLISH)
