import itertools
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.rerank.words.folding import ended, fold
from moverank.rerank.words.tokenizer import Tokenizer

PLAIN = Tokenizer()
TURKISH = Tokenizer(language="tr")
# Digits, letters with and without case, marks, joiners, punctuation and separators of many scripts.
HARD = (
    "aAiIİ\u0131ßẞΣ\u03c3ςÅ\u212bé\u0301\u0307\u0327\u0345हिन्दी-'_ 1²½①Ⅷ\u200c\u200d\u00ad\ufb01\ufb00\uff21\uff11ªŀ"
    "\u0640\u064b\u064e\u0654\u0651\u0670\u0643\u0627\ufdfa\ufe77\ufef7\uff76\uff9e\uff9fใน\u0e33\u1100\u1161\uffa1\u3131\U0001d400™"
)
MIXED = "我们在北京大学東に住ガｶﾞภาษาที่น้ำABcé\u0301\uff21 \u200c\u00ad、ァ한국"
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(HARD)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n--- ... ___ !?", []),
        ("The QUICK brown-fox", ["the", "quick", "brown", "fox"]),
        ("e-mail co-operate a--b", ["e", "mail", "co", "operate", "a", "b"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("snäke_cäse", ["snäke", "cäse"]),
        ("don't it\u2019s O'Neill", ["don", "t", "it", "s", "o", "neill"]),
        ("230V in 1984, 3.14", ["230v", "in", "1984", "3", "14"]),
        ("Straße STRASSE GROẞ", ["straße", "strasse", "groß"]),
        ("cafe\u0301 CAFÉ café", ["café", "café", "café"]),
        ("naïve—façade", ["naïve", "façade"]),
        ("diyarbak\u0131r", ["diyarbak\u0131r"]),
        ("ΟΔΟΣ οδός", ["οδος", "οδός"]),
        ("हिन्दी में लिखना।", ["हिन्दी", "में", "लिखना"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("שָׁלוֹם עולם", [unicodedata.normalize("NFC", "שָׁלוֹם"), "עולם"]),
        ("مَرْحَبًا بالعالم", ["مرحبا", "بالعالم"]),
        ("東京 駅", ["東京", "駅"]),
        ("한국어", ["한국어"]),
        (unicodedata.normalize("NFD", "한국어"), ["한국어"]),
        ("Ångström A\u030angström \u212bngström", ["ångström"] * 3),
        ("\u0301a", ["a"]),
        ("x² ٣٤", ["x2", "٣٤"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert PLAIN.words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The QUICK brown-fox, snake_case; 3.14", ["the", "quick", "brown", "fox", "snake", "case", "3", "14"]),
        (
            "Straße CAFÉ cafe\u0301 Привет हिन्दी 東京 한국어",
            ["straße", "café", "café", "привет", "हिन्दी", "東京", "한국어"],
        ),
        ("Schiff\u00adfahrt -\u00ad a\u00ad", ["schifffahrt", "a"]),
        ("\ufb01nden di\ufb00erent \ufb03", ["finden", "different", "ffi"]),
        ("\uff21\uff22\uff23\uff11\uff12 ｶﾞｷﾞ", ["abc12", "ガギ"]),
        ("x² 1º Ⅷ ① ½", ["x2", "1o", "viii", "1", "½"]),
        ("Word™ 5…6\u00a0km", ["word", "5", "6", "km"]),
        ("می\u200cشود a\u200c-b\u200d", ["می\u200cشود", "a", "b"]),
        ("كِتَابٌ كـــتاب ـــ ﻛﺘﺎﺐ", ["كتاب"] * 3),
        ("İstanbul I\u0307stanbul i\u0307stanbul ISPARTA", ["istanbul"] * 3 + ["isparta"]),
        ("ΟΔΟΣ'ΔΩ Σ οδοσ", ["οδος", "δω", "\u03c3", "οδος"]),
        ("น้ำ", ["น้ำ"]),
        ("👨\u200d👩\u200d👧 ok", ["ok"]),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert PLAIN.words(text) == words


@pytest.mark.parametrize("language", ["tr", "az"])
def test_dotless_i_is_a_letter_of_its_own(language: str) -> None:
    tokenizer = Tokenizer(language=language)
    assert tokenizer.words("ISPARTA \u0131sparta IŞIK İzmir I\u0307zmir") == ["\u0131sparta"] * 2 + [
        "\u0131ş\u0131k",
        "izmir",
        "izmir",
    ]
    assert [(start, end) for start, end, _ in tokenizer.spans("ISPARTA, I\u0307zmir")] == [(0, 7), (9, 15)]


SEGMENTED = [Tokenizer(language=code, segmentation=way) for code in ("zh", "th") for way in ("icu", "characters")]


@pytest.mark.parametrize(
    ("code", "text", "words", "clusters"),
    [
        ("zh", "我们在北京大学。", ["我们", "在", "北京", "大学"], 7),
        ("zh", "学习Python语言、ABC", ["学习", "python", "语言", "abc"], 6),
        ("ja", "東京に住んでいます", ["東京", "に", "住", "んで", "い", "ます"], 9),
        ("th", "ภาษาไทย สวยงาม", ["ภาษา", "ไทย", "สวยงาม"], 13),
        ("zh", "café ΟΔΟΣ \u00ad", ["café", "οδος"], 2),
    ],
)
def test_scripts_without_spaces_are_split(code: str, text: str, words: list[str], clusters: int) -> None:
    assert Tokenizer(language=code, segmentation="icu").words(text) == words
    alone = Tokenizer(language=code, segmentation="characters").words(text)
    assert (len(alone), "".join(alone)) == (clusters, "".join(words))


@pytest.mark.parametrize("tokenizer", SEGMENTED, ids=lambda one: f"{one.language}-{one.segmentation}")
@given(text=st.text(HARD + MIXED))
def test_spans_of_parts_are_those_of_the_words(tokenizer: Tokenizer, text: str) -> None:
    spans = list(tokenizer.spans(text))
    assert [word for _, _, word in spans] == tokenizer.words(text)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))


@pytest.mark.parametrize("tokenizer", SEGMENTED, ids=lambda one: f"{one.language}-{one.segmentation}")
@given(text=st.text(MIXED))  # with marks of one script only: those of others might be written in another order
@example(text="ｶﾞｷﾞ北京ABC")
@example(text="\u17d2ក\u200cខ")
def test_parts_are_what_is_written(tokenizer: Tokenizer, text: str) -> None:
    for start, end, word in tokenizer.spans(text):
        assert word == ended(fold(text[start:end], tokenizer.language))


# Letters, marks and digits of a language, in which a text need not be a sentence, and words of its vocabulary.
SCRIPTS = {
    "en": ("aAeoßſﬁ\uff21\u0301\u0308\u0327éÅ1²", ""),
    "tr": ("iIİ\u0131\u0307şŞgĞaA", ""),
    "ar": ("كتاب العربية\u064b\u064e\u0650\u0651\u0670\u0654\u0640ﻛﻻ٣", ""),
    "none": ("שלום\u05b0\u05b7\u05bc\u05c1יִﭏ", ""),  # Hebrew
    "hi": ("हिन्दी लिखना\u093c\u0902क़\u0958\u094d१", ""),
    "ko": ("한국어\u1112\u1161\u11ab\u3131ﾡa", ""),
    "th": ("ภาษาไทย น้ำ\u0e4d\u0e33\u0e38\u0e48๑a", "ภาษา ไทย น้ำ ษา"),
    "lo": ("ພາສາລາວ ນ້ຳ\u0ecd\u0eb3\u0eb8\u0ec8ໜ໑", "ພາສາ ລາວ ນ້ຳ"),
    "km": ("ភាសាខ្មែរ\u17d2ក\u17b6\u17c6១", "ភាសា ខ្មែរ"),
    "my": ("မြန်မာဘာသာ\u1039က\u1037\u103a\u102f၁", "မြန်မာ ဘာသာ"),
    "zh": ("我们在北京大学\uf900。豈、A1", "我们 北京 大学 北京大学"),
    "ja": ("東京に住んでいガｶﾞ\u3099ーァヶ々", "東京 住んで ガ"),
}
BETWEEN = " \u00a0.-_'\u200c\u200d\u00ad👨👩\ufe0f"
WAYS = [
    Tokenizer(language=code, segmentation=way, vocabulary=words if way == "vocabulary" else "")
    for code, (_, words) in SCRIPTS.items()
    for way in (("icu", "vocabulary", "characters", "none") if words else ("none",))
]


@pytest.mark.parametrize("tokenizer", WAYS, ids=lambda one: f"{one.language}-{one.segmentation}")
@given(data=st.data())
def test_the_words_of_every_script_are_what_is_written(tokenizer: Tokenizer, data: st.DataObject) -> None:
    letters, _ = SCRIPTS[tokenizer.language]
    text = data.draw(st.text(letters + BETWEEN))
    check_written(tokenizer, text)


def check_written(tokenizer: Tokenizer, text: str) -> None:
    spans = list(tokenizer.spans(text))
    assert [word for _, _, word in spans] == tokenizer.words(text)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    for start, end, word in spans:
        assert word == ended(fold(text[start:end], tokenizer.language))


@pytest.mark.parametrize("text", ["ນ\u200c\ufe0f", "ນ\u200c\u064bກ", "北\u200c\u0640", "北Σ\u200c\ufe0f"])
def test_what_is_dropped_after_a_joiner_belongs_to_no_part(text: str) -> None:
    check_written(Tokenizer(language="lo", segmentation="characters"), text)


@pytest.mark.parametrize(
    ("code", "text", "written", "words"),
    [
        ("de", "Die Häuser größer", ["Die", "Häuser", "größer"], ["die", "häuser", "größer"]),
        ("tr", "IŞIK İzmir ışık", ["IŞIK", "İzmir", "ışık"], ["ışık", "izmir", "ışık"]),
        ("ar", "مَدْرَسَةٌ كـــتاب", ["مَدْرَسَةٌ", "كـــتاب"], ["مدرسة", "كتاب"]),
        ("en", "o\ufb03ce-\ufb03x co\u00adop", ["o\ufb03ce", "\ufb03x", "co\u00adop"], ["office", "ffix", "coop"]),
        ("none", "می\u200cخواهم، کتاب\u200cها", ["می\u200cخواهم", "کتاب\u200cها"], ["می\u200cخواهم", "کتاب\u200cها"]),
        ("en", "ok👍🏽 1\ufe0f\u20e3 👨\u200d👩\u200d👧fine", ["ok", "1\ufe0f", "fine"], ["ok", "1", "fine"]),
        ("none", "שָׁלוֹם world мир 東京", ["שָׁלוֹם", "world", "мир", "東京"], ["שָׁלוֹם", "world", "мир", "東京"]),
        ("th", "ราคา100บาท", ["ราคา", "100", "บาท"], ["ราคา", "100", "บาท"]),
        ("zh", "学习Python3语言", ["学习", "Python3", "语言"], ["学习", "python3", "语言"]),
        ("ja", "東京TOWERに", ["東京", "TOWER", "に"], ["東京", "tower", "に"]),
        ("ko", "한국어를 배웁니다", ["한국어를", "배웁니다"], ["한국어를", "배웁니다"]),
        ("hi", "हिन्दी में क़लम", ["हिन्दी", "में", "क़लम"], ["हिन्दी", "में", "क़लम"]),
    ],
)  # fmt: skip
def test_spans_are_words_as_written(code: str, text: str, written: list[str], words: list[str]) -> None:
    way = "vocabulary" if code in ("th", "zh", "ja") else "none"
    tokenizer = Tokenizer(language=code, segmentation=way, vocabulary="ราคา บาท 学习 语言 東京")
    spans = list(tokenizer.spans(text))
    assert [text[start:end] for start, end, _ in spans] == written
    assert [word for _, _, word in spans] == [unicodedata.normalize("NFC", word) for word in words]


EACH = pytest.mark.parametrize("tokenizer", [PLAIN, TURKISH], ids=["plain", "turkish"])


@EACH
@given(text=TEXTS)
@example(text="İ I\u0307 ẞ Σ ΑΣ ǅ Ω K Å ϓ ϔ")
@example(text="\u1100\u1161_\u11a8")
@example(text="a\u0345\u0301 Ά\u0345")
def test_splitting_is_idempotent(tokenizer: Tokenizer, text: str) -> None:
    words = tokenizer.words(text)
    assert tokenizer.words(" ".join(words)) == words
    assert all(tokenizer.words(word) == [word] for word in words)


@EACH
@given(text=TEXTS)
def test_words_consist_of_letters_digits_and_marks(tokenizer: Tokenizer, text: str) -> None:
    for word in tokenizer.words(text):
        assert word[0].isalnum()
        assert all(c.isalnum() or unicodedata.category(c) in ("Mn", "Mc") or c in "\u200c\u200d" for c in word)
        assert word == unicodedata.normalize("NFC", word)


@given(TEXTS)
def test_no_letter_or_digit_is_lost(text: str) -> None:
    kept = "".join(PLAIN.words(text)).replace("ς", "σ")
    expected = fold(text, "en").replace("ς", "σ")
    assert [c for c in kept if c.isalnum()] == [c for c in expected if c.isalnum()]


@given(TEXTS)
def test_both_encodings_of_an_accent_give_one_word(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    for tokenizer in (PLAIN, TURKISH):
        assert tokenizer.words(composed) == tokenizer.words(decomposed)


@given(st.text(st.characters(max_codepoint=127)))
def test_the_ascii_pattern_agrees_with_the_unicode_one(text: str) -> None:
    assert [*PLAIN.words(text), "é"] == PLAIN.words(text + " é")


def test_stop_words_are_dropped_and_not_counted() -> None:
    tokenizer = Tokenizer(frozenset({"the", "is"}))
    assert tokenizer.words("The cat is the CAT") == ["cat", "cat"]
    assert tokenizer.count("The cat is the CAT, a cat!") == {"cat": 3, "a": 1}
    assert tokenizer.count("the") == {}


@EACH
@given(text=TEXTS)
@example(text="The QUICK brown-fox, snake_case; cafe\u0301 ΟΔΟΣ Straße हिन्दी में")
@example(text="İstanbul I\u0307stanbul")
@example(text="a:Σ")  # the small form depends on what is before it
@example(text="e\u00ad\u0301 \u0640\u0654a a\u200d\u00ad\u0301 \uff9ea")
def test_spans_are_those_of_the_words(tokenizer: Tokenizer, text: str) -> None:
    stopping = replace(tokenizer, stop_words=frozenset({"a", "the"}))
    spans = list(stopping.spans(text))
    assert [word for _, _, word in spans] == stopping.words(text)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    for start, end, word in spans:
        assert len(tokenizer.words(text[start:end])) == 1
        assert tokenizer.words(text[start:end]) == [word]


@pytest.mark.parametrize("end", ["A", "\uff21", "e\u0301", "\uffa1\uffc2"])
def test_spans_of_a_long_run_take_linear_time(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    folded = 0

    def counted(text: str, language: str) -> str:
        nonlocal folded
        folded += len(text)
        return fold(text, language)

    monkeypatch.setattr("moverank.rerank.words.folding.fold", counted)
    tokenizer, text = Tokenizer(language="zh", segmentation="characters"), "\u4e2d" * 20_000 + end
    spans = list(tokenizer.spans(text))
    assert [word for *_, word in spans] == tokenizer.words(text)
    assert [(first, last) for first, last, _ in spans[:20_000]] == [(i, i + 1) for i in range(20_000)]
    assert spans[-1][:2] == (20_000, len(text))
    assert folded < 100 * len(text)
