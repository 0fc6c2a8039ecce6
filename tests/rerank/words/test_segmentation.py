import itertools
import math
import pickle
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moverank.rerank.errors import MissingExtra
from moverank.rerank.words import segmentation
from moverank.rerank.words.segmentation import (
    IcuSegmenter,
    Segmenter,
    VocabularySegmenter,
    clusters,
    frequent_parts,
    runs,
    vocabulary_of,
)

NAMES = (
    *("CJK ", "HANGUL ", "HIRAGANA ", "HENTAIGANA ", "KATAKANA", "THAI ", "LAO ", "KHMER ", "MYANMAR ", "IDEOGRAPHIC "),
    *("HALFWIDTH ", "HANGZHOU ", "VERTICAL IDEOGRAPHIC", "VERTICAL KANA", "MASU MARK"),
)
SHARED = "SELECTOR", "COMBINING"
"""How the names of the letters and marks begin that runs consist of, and of marks that no script owns alone."""

SCRIPTS = {
    "han": "黑豹队的防守丢了多少分々〇𠀀\U000e0100",
    "kana": "東京のひらがなコンピューターか\u3099ﾃﾞ",
    "hangul": "한국어를공부합니다",
    "thai": "ฉันรักภาษาไทยเพราะน้ำเธอปู่",
    "lao": "ຂ້ອຍຮັກພາສາລາວນ້ຳ",
    "khmer": "ខ្ញុំស្រឡាញ់ភាសាខ្មែរ\u200c",
    "burmese": "ကျွန်တော်မြန်မာစကားင်္ဂလိပ်ပြောသည်",
}
SCRIPTS["mixed"] = "".join(SCRIPTS.values())
STACKERS = "\u1039\u17d2"
WORDS = ["的", "中国", "国人", "人", "มา", "มาก", "กา", "ខ្ញុំ", "ភាសា", "ខ្មែរ", "စကား", "한국", "コン", "the"]


def run_of(script: str) -> st.SearchStrategy[str]:
    """Draw texts of one script that are wholly a run."""
    return st.text(SCRIPTS[script], min_size=1, max_size=30).filter(lambda text: runs().fullmatch(text) is not None)


RUNS = st.sampled_from(list(SCRIPTS)).flatmap(run_of)


@pytest.fixture(scope="module", params=["icu", "vocabulary"])
def segmenter(request: pytest.FixtureRequest) -> Segmenter:
    if request.param == "icu":
        pytest.importorskip("icu4py", reason="the extra `languages` is not installed")
        return IcuSegmenter("zh")
    return VocabularySegmenter(WORDS)


def is_letter(char: str) -> bool:
    return unicodedata.category(char) in ("Lo", "Lm", "Nl")


def is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc", "Me")


@pytest.mark.slow
def test_runs_are_of_the_letters_and_marks_that_unicode_names_so() -> None:
    for char in map(chr, range(0x110000)):
        name = unicodedata.name(char, "")
        if name.startswith(NAMES) and not name.startswith("HALFWIDTH FORMS"):
            assert bool(runs().fullmatch(char)) == (is_letter(char) and char not in "ำຳﾞﾟ"), name
            assert bool(runs().fullmatch(f"一{char}")) == (is_letter(char) or is_mark(char)), name
        elif runs().fullmatch(f"一{char}"):
            # Code points without a name may become letters of these scripts in a later Unicode.
            assert not name or (is_mark(char) and any(word in name for word in SHARED)), name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("plain text, 2015", []),
        ("在2015年10月", ["在", "年", "月"]),
        ("用iPhone手机、电脑", ["用", "手机", "电脑"]),
        ("コンピューター・ゲーム", ["コンピューター", "ゲーム"]),
        ("ﾃﾞｰﾀ", ["ﾃﾞｰﾀ"]),
        ("ราคา ๕๐ บาท ฿20", ["ราคา", "บาท"]),
        ("។ខ្មែរ។", ["ខ្មែរ"]),
        ("မြန်မာ၊", ["မြန်မာ"]),
        ("𠀀𪚥", ["𠀀𪚥"]),
        ("葛\U000e0100城", ["葛\U000e0100城"]),
        ("e\u0301中", ["中"]),
        ("ก\u200c ข\u200dค", ["ก", "ข\u200dค"]),
        ("हिन्दी Ελλάδα", []),
    ],
)
def test_runs(text: str, found: list[str]) -> None:
    assert runs().findall(text) == found


@given(RUNS)
@example("က္")
@example("်က")
def test_clusters_are_a_base_with_its_marks_and_stacked_consonants(run: str) -> None:
    parts = clusters(run)
    assert "".join(parts) == run
    starts = {0, *itertools.accumulate(map(len, parts))}
    for i in range(1, len(run)):
        mark = is_mark(run[i]) or run[i] in "ำຳﾞﾟ\u200c\u200d"
        stacked = run[i - 1] in STACKERS and is_letter(run[i])
        assert (i not in starts) == (mark or stacked)


@given(RUNS)
@example("ဓဟ္ဠ")  # ICU's dictionary of Burmese has no such stack, and splits it
@example("ဝຳຕ")
def test_joined_parts_are_the_run_and_no_cluster_is_split(segmenter: Segmenter, run: str) -> None:
    parts = segmenter.split(run)
    assert "".join(parts) == run
    assert all(parts)
    assert {*itertools.accumulate(map(len, parts))} <= {*itertools.accumulate(map(len, clusters(run)))}
    assert parts == pickle.loads(pickle.dumps(segmenter)).split(run)  # noqa: S301 - worker processes get them so


@pytest.mark.parametrize("run", [script * (100_000 // len(script)) for script in SCRIPTS.values()], ids=list(SCRIPTS))
def test_long_runs_end(segmenter: Segmenter, run: str) -> None:
    assert "".join(segmenter.split(run)) == run


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("zh", "他们 毕业 于 北京 大学"),
        ("zh", "我们 喜欢 中国 音乐"),
        ("ja", "東京 都 の 人口"),
        ("ja", "コンピューター を 使う の は 楽しい"),
        ("th", "ฉัน รัก ภาษา ไทย เพราะ มัน สวยงาม"),
        ("th", "น้ำ ใน แม่น้ำ"),
        ("lo", "ຂ້ອຍ ຮັກ ພາສາ ລາວ"),
        ("km", "ខ្ញុំ ស្រឡាញ់ ភាសាខ្មែរ"),
        ("my", "ကျွန်တော် မြန်မာ"),
        ("ko", "한국어를"),
    ],
)
def test_icu_knows_the_words(language: str, words: str) -> None:
    pytest.importorskip("icu4py", reason="the extra `languages` is not installed")
    assert IcuSegmenter(language).split(words.replace(" ", "")) == words.split()


def test_without_icu_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    segmentation._word_breaker.cache_clear()  # noqa: SLF001 - it remembers the package
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(MissingExtra, match=r"python -m pip install 'moverank\[languages\]'"):
        IcuSegmenter("th")


def path_costs(run: str, words: list[str]) -> dict[tuple[str, ...], float]:
    """Return the cost of every way to split `run` at its clusters into `words` and single clusters."""
    scale = math.log(len(words) + 2)
    costs = {word: math.log((rank + 1) * scale) for rank, word in enumerate(words)}
    unknown = math.log((len(words) + 1) * scale)
    parts = clusters(run)
    found = {}
    for cuts in itertools.product((False, True), repeat=len(parts) - 1):
        path, single = [parts[0]], [True]
        for cut, part in zip(cuts, parts[1:], strict=True):
            if cut:
                path.append(part)
                single.append(True)
            else:
                path[-1] += part
                single[-1] = False
        if all(word in costs or alone for word, alone in zip(path, single, strict=True)):
            found[tuple(path)] = sum(costs.get(word, unknown) for word in path)
    return found


@given(
    st.lists(st.text("中国人ขา\u0e31ខ្ញ", min_size=1, max_size=4), max_size=12, unique=True),
    st.text("中国人ขา\u0e31ខ្ញ", min_size=1, max_size=10),
)
def test_the_vocabulary_path_has_the_least_cost_of_all_segmentations(words: list[str], run: str) -> None:
    words = [word for word in words if runs().fullmatch(word)]
    costs = path_costs(run, words)
    found = VocabularySegmenter(words).split(run)
    assert costs[tuple(found)] == pytest.approx(min(costs.values()), rel=1e-12)


def test_frequent_words_win_and_other_words_are_skipped() -> None:
    assert VocabularySegmenter(["中国", "国人", "人", "中"]).split("中国人") == ["中国", "人"]
    assert VocabularySegmenter(["the", "国人", "中", "中国", "人", "中国"]).split("中国人") == ["中", "国人"]
    assert VocabularySegmenter([]).split("中国") == ["中", "国"]


def test_costs_follow_zipf() -> None:
    # Of 8 words the ranks 1 and 2 together cost ln(1 * 2 * ln(10) ** 2) = ln 10.6, a word of rank k ln(k * ln 10).
    rare = list("甲乙丙丁戊")
    assert VocabularySegmenter(["中", "国", *rare[:1], "中国", *rare[1:]]).split("中国") == ["中国"]  # k = 4: ln 9.2
    assert VocabularySegmenter(["中", "国", *rare[:2], "中国", *rare[2:]]).split("中国") == ["中", "国"]  # 5: ln 11.5


def test_only_the_most_frequent_words_of_a_large_vocabulary_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "_MOST", 2)
    assert VocabularySegmenter(["the", "国人", "中", "中国", "人"]).split("中国人中国") == ["中", "国人", "中", "国"]
    assert VocabularySegmenter(["ก" * 33, "ก" * 32]).split("ก" * 33) in (["ก" * 32, "ก"], ["ก", "ก" * 32])


@given(st.lists(st.text("中国人ขา\u0e31 x", max_size=60), max_size=8))
def test_frequent_parts_are_those_counted_one_by_one(texts: list[str]) -> None:
    counts: dict[str, int] = {}
    for text in texts:
        for run in runs().findall(text):
            parts = clusters(run)
            for start, end in itertools.combinations(range(len(parts) + 1), 2):
                if end - start <= 4:
                    part = "".join(parts[start:end])
                    counts[part] = counts.get(part, 0) + 1
    found = frequent_parts(texts)
    assert set(found) == {part for part, times in counts.items() if times >= 3}
    assert [counts[part] for part in found] == sorted((counts[part] for part in found), reverse=True)


def test_parts_of_texts_are_words() -> None:
    parts = frequent_parts(["中国人喜欢中国", "中国音乐"])
    assert parts == ["中", "中国", "国"]
    assert VocabularySegmenter(parts).split("中国音乐人") == ["中国", "音", "乐", "人"]


@pytest.mark.parametrize(("clusters_", "least"), [(14_000, 3), (24_000, 4), (26_000, 5), (200_000, 10)])
def test_parts_of_longer_texts_occur_more_often(clusters_: int, least: int) -> None:
    few, enough = "甲乙丙", "丁戊己"
    texts = ["x".join([few] * (least - 1) + [enough] * least), "人" * clusters_]
    parts = frequent_parts(texts)
    assert ("甲乙" in parts, "丁戊" in parts) == (False, True)


def test_a_vocabulary_has_the_first_words_of_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["the", "เธอ", "中国", "ｶﾞ", "ひと", "人", "中国", "漢字か", "中国 人", "人,", "ก" * 33, "国"]
    assert vocabulary_of(words, "zh", fewest=0) == "中国 人 漢字か 国"
    assert vocabulary_of(words, "ja", fewest=0) == "中国 ガ ひと 人 漢字か 国"
    assert vocabulary_of(words, "th", fewest=0) == "เธอ"
    assert vocabulary_of(words, "en", fewest=7) == "เธอ 中国 ガ ひと 人 漢字か 国"
    assert vocabulary_of(words, "en", fewest=8) is vocabulary_of(words, "zh") is None
    assert vocabulary_of(["the"], "km", fewest=0) == ""
    monkeypatch.setattr(segmentation, "MOST_WORDS", 2)
    assert vocabulary_of(words, "zh", fewest=0) == "中国 人"
