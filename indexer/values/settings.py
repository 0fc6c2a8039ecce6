"""The settings of a collection, stored in it."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from numbers import Integral
from typing import TYPE_CHECKING, Any

from moverank.indexer.errors import SettingsError, UsageError
from moverank.indexer.values.arguments import finite_number, place, shown, switch, text, texts
from moverank.indexer.values.documents import GIVEN, MAX_TITLE_WEIGHT, TITLE_WEIGHT
from moverank.rerank.errors import EncoderError, OptionError
from moverank.rerank.ranking import AUTO_RANK
from moverank.rerank.words.detection import check_detection
from moverank.rerank.words.languages import AUTO_LANGUAGE, DEFAULT, NO_LANGUAGE, language_of
from moverank.rerank.words.segmentation import AUTO, ICU, VOCABULARY, segmenter_of
from moverank.rerank.words.tokenizer import (
    AUTO_WORDS,
    ENGLISH,
    LISTS,
    NO_STOP_WORDS,
    StopWords,
    Tokenizer,
    stop_words,
    tokenizer_of,
)

if TYPE_CHECKING:
    from moverank.indexer.values.given_vectors import Space
    from moverank.indexer.values.ranking_spec import RankingSpec, ScorerChoice, Weights


_DERIVED = ("weights", "gamma", "title_weight", "first_stage", "first_stage_options", "faiss")
CHANGEABLE = (*_DERIVED, "rank")
"""Settings that may change later: weights and derived files depend on them, the stored word counts do not."""

AUTO_INDEX, FLAT_INDEX = "auto", "IDMap2,Flat"  # of the first stage: chosen by size; one of whole vectors

AUTO_EMBEDDING = "auto"
"""The source of word vectors while there are none, or too few texts to learn them from."""

DEFAULT_K1 = 1.6
"""The k1 of BM25 in the default ranking: words of titles count several times, and saturate later."""


def default_rank(gamma: float, *, stem: str | None, letters: int = 0, embedding: str = "") -> str:
    """Return the ranking of collections with `gamma`, whose words have the stems of `stem`, a language, or none.

    With `letters`, sequences of so many letters count beside the stems: four are the best of a grid on half of XQuAD's
    questions in eight languages, but not in English.

    It is the best of a grid on eight judged collections. Vectors trained on the texts themselves by skip-gram ("train")
    are weaker evidence of the topic: words count more, the cosine less. Too few texts teach nothing ("auto"): words
    alone rank. See the manual's page `ranking`.
    """
    bm25 = f"bm25:k1={DEFAULT_K1}" + (f",stem={stem}" if stem else "")
    in_letters = f"+2*bm25:k1={DEFAULT_K1},ngrams={letters}" if letters else ""
    if embedding == AUTO_EMBEDDING:
        return f"{bm25}{in_letters}"
    distance = f"{'pwmd' if gamma else 'wmd'}:mu=20,weights=tfidf"
    if embedding == "train":
        return f"{distance}+2*cover+6*bm25{f':stem={stem}' if stem else ''}+cosine"
    counts = f"{bm25}{in_letters}" if letters else f"2*{bm25}"
    return f"{distance}+0.5*cover+{counts}+cosine"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one collection."""

    embedding: str = AUTO_EMBEDDING
    """Source of word vectors: a path, "gensim:NAME", "hf:NAME", "train", "lsi", or "auto", which the first training on
    enough texts replaces by "train" or "lsi"."""
    normalize: bool | None = None
    """Scale word vectors to unit length; None: trained ones, and those of a static embedding model."""
    train_options: tuple[str, ...] = ()
    """Options of training as "key=value"."""
    stop_words: StopWords = AUTO_WORDS
    """Words left out: "auto" (those of the language), "english", "none", or a list of words, held as a sorted tuple;
    OptionError for anything else."""
    title_weight: int = TITLE_WEIGHT
    """How many times the words of a title count."""
    weights: "Weights" = "tf"
    """Weights of words: "tf", "tfidf", "norm" or "model"."""
    gamma: float = 0.0
    """Default sensitivity to rank."""
    rank: str = AUTO_RANK
    """The default ranking, "auto" for the best known one; empty: P-WMD with a gamma, else WMD."""
    first_stage: str = "centroid"
    """The encoder of documents, or "given" for vectors that come with them; with a scorer after a plus, as in
    "fisher+bm25", the scorer's best documents are candidates, too."""
    first_stage_options: tuple[str, ...] = ()
    """Options of the encoder, or the metric of given vectors, as "key=value"."""
    faiss: str = AUTO_INDEX
    """Factory string of the first stage's index, or "auto": chosen by size whenever the index is written."""
    language: str = DEFAULT
    """The ISO code of the texts' language, "none" for others and for several, or "auto", which the first texts replace
    by one of these; OptionError for an unknown one."""
    segmentation: str = AUTO
    """How scripts without spaces are split: "icu", "vocabulary", "characters" or "none"; "auto" becomes one of these by
    the language, and by what is installed. OptionError for anything else."""
    vocabulary: Collection[str] | None = None
    """The words of the segmentation "vocabulary", most frequent first: a list, held as a text with spaces between them.
    None until they are chosen, from the word vectors, or from the texts of the first run."""
    phrases: Collection[str] | None = None
    """Phrases whose words are one word where they are side by side, joined by `_`, most frequent first: a list, held as
    a text with spaces between them. None: those of word vectors from a file, if it has any."""

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type, or a number out of its range; see also `check_settings`."""
        checked: dict[str, Any] = {
            **self._words_checked(),
            "embedding": place("embedding", self.embedding),
            "normalize": None if self.normalize is None else switch("normalize", self.normalize),
            "title_weight": _title_weight(self.title_weight),
            "gamma": finite_number("gamma", self.gamma),
        }
        for name in ("train_options", "first_stage_options"):
            checked[name] = tuple(texts(name.replace("_", " "), getattr(self, name)))
        for name in ("weights", "rank", "first_stage", "faiss"):
            checked[name] = text(name.replace("_", " "), getattr(self, name))
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _words_checked(self) -> dict[str, Any]:
        """Return the settings that determine the words of a text; in the language "auto", they stay as chosen."""
        own = self._known_language
        tokenizer = tokenizer_of(self.stop_words, own, self.segmentation, self.vocabulary, self.phrases)
        checked: dict[str, Any] = {}
        for name in ("vocabulary", "phrases"):
            checked[name] = None if getattr(self, name) is None else getattr(tokenizer, name)
        if self._is_open:
            words = self.stop_words if isinstance(self.stop_words, str) else tuple(sorted(self.stop_words))
            return checked | {"stop_words": words}
        words = tuple(sorted(tokenizer.stop_words))
        return checked | {"language": tokenizer.language, "segmentation": tokenizer.segmentation, "stop_words": words}

    @property
    def _known_language(self) -> str:
        """Return the language, "none" as long as no text has determined it."""
        return NO_LANGUAGE if self._is_open else self.language

    @property
    def _is_open(self) -> bool:
        """Return whether the first texts will determine the language."""
        return isinstance(self.language, str) and self.language == AUTO_LANGUAGE  # an array has no truth value

    def stored(self) -> dict[str, Any]:
        """Return the settings as JSON values by name."""
        return asdict(self)

    @classmethod
    def restored(cls, values: dict[str, Any]) -> "Settings":
        """Restore the settings from stored values, whose tuples JSON has turned into lists."""
        stored: dict[str, Any] = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        for name, value in stored.items():
            stored[name] = tuple(value) if isinstance(value, list) else value
        return cls(**stored)

    def changed(self, choices: dict[str, Any]) -> "Settings":
        """Return the settings changed by `choices` (name -> value); SettingsError if a permanent one differs."""
        for name in ("language", "segmentation"):
            if choices.get(name) == AUTO:  # chosen when the collection was made
                choices = {**choices, name: getattr(self, name)}
        changed = replace(self, **choices)
        for name in choices:
            before = getattr(self, name)
            if name not in CHANGEABLE and getattr(changed, name) != before:
                other = f"another {name.replace('_', ' ')} ({_short(before)})"
                if name == "stop_words":
                    other = f"other stop words ({self._stop_list})"
                remedy = "make a new collection"
                if name in ("language", "stop_words", "segmentation"):
                    more = "" if name == "language" else f" --setting {name}=VALUE"
                    remedy = f"change it by `moverank refit -i INDEX --language {changed.language}{more}`"
                raise SettingsError(f"the collection was made with {other}: leave that option out, or {remedy}")
        return changed

    def in_language(self, language: str, **choices: Any) -> "Settings":
        """Return the settings of the same collection with texts in a `language`.

        Stop words of the user's own stay; the list of the former language becomes that of the new one. `choices` are
        the settings `stop_words` and `segmentation`.
        """
        words: StopWords = self._stop_list if self._stop_list in LISTS else self.stop_words
        if self.stop_words == self._listed:
            words = AUTO_WORDS
        before = {"stop_words": words, "segmentation": AUTO, "vocabulary": None, "phrases": None}
        return replace(self, language=language, **{**before, **choices})

    def derived_key(self) -> dict[str, Any]:
        """Return the settings on which derived files depend."""
        values = {name: getattr(self, name) for name in _DERIVED} | {"first_stage": self.encoder}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def specification(self) -> str:
        """Return the specification of the collection's own ranking."""
        if self.rank == AUTO_RANK:
            return default_rank(self.gamma, stem=self.stem, letters=self.letters, embedding=self.embedding)
        return self.rank or ("pwmd" if self.gamma else "wmd")

    @property
    def stem(self) -> str | None:
        """Return the language whose stems the default ranking counts, None where there is no stemmer."""
        return language_of(self._known_language).stemmer

    @property
    def letters(self) -> int:
        """Return the length of the sequences of letters that the default ranking also counts, 0 for none."""
        return language_of(self._known_language).letters

    @property
    def marks(self) -> bool:
        """Return whether most words of the language have marks that are often left out."""
        return language_of(self._known_language).marks

    @property
    def tokenizer(self) -> Tokenizer:
        """Return what splits texts and queries into words."""
        if self._is_open:
            return tokenizer_of(self.stop_words, NO_LANGUAGE)
        given = str(self.vocabulary or ""), str(self.phrases or "")
        return Tokenizer(frozenset(self.stop_words), self.language, self.segmentation, *given)

    @property
    def lacks_vocabulary(self) -> bool:
        """Return whether the words of the segmentation are still to be chosen."""
        return not self._is_open and self.segmentation == VOCABULARY and self.vocabulary is None

    @property
    def lacks_phrases(self) -> bool:
        """Return whether the phrases are still to be chosen."""
        return not self._is_open and self.phrases is None

    @property
    def ranking(self) -> "RankingSpec":
        """Return the collection's own ranking, with the default gamma and weights."""
        from moverank.indexer.values.ranking_spec import own_ranking

        return own_ranking(self.specification, self.gamma, self.weights, phrases=bool(self.phrases))

    @property
    def _stop_list(self) -> str:
        """Return the name of the list of stop words, or a short form of the words."""
        if isinstance(self.stop_words, str):  # of the language that the first texts determine
            return self.stop_words
        if not self.stop_words:
            return NO_STOP_WORDS
        words = frozenset(self.stop_words)
        if words == stop_words(ENGLISH, self.language):
            return ENGLISH
        return self.language if self.stop_words == self._listed else _short(self.stop_words)

    @property
    def _listed(self) -> tuple[str, ...]:
        """Return the stop words of the language, as they are stored."""
        return tuple(sorted(stop_words(AUTO_WORDS, self._known_language)))

    @property
    def encoder(self) -> str:
        """Return the name of the first stage's encoder, or `GIVEN`."""
        return self.first_stage.partition("+")[0]

    def space(self, dim: int) -> "Space | None":
        """Return the space of the given vectors, which have `dim` dimensions; None with an encoder."""
        from moverank.indexer.values.given_vectors import Space, metric_of

        return Space(metric_of(self.encoder_options()), dim) if self.encoder == GIVEN else None

    def joined_scorer(self) -> "ScorerChoice | None":
        """Return the scorer whose best documents are candidates, too, or None; UsageError for an unknown one."""
        from moverank.indexer.values.ranking_spec import scorer_named
        from moverank.rerank.scorers.scorer_registry import PLUG_INS

        _, plus, name = self.first_stage.partition("+")
        scorer = scorer_named(name, phrases=bool(self.phrases)) if plus else None
        if plus and scorer is None:
            names = ", ".join(PLUG_INS.names())
            raise UsageError(
                f"the first stage: there is no scorer {name!r} to join: choose {names}, or install the package that "
                "provides it"
            )
        return scorer

    def encoder_options(self) -> dict[str, str]:
        """Return the options of the first stage's encoder by name, as typed."""
        from moverank.rerank.options import key_values

        try:
            return key_values(self.first_stage_options)
        except OptionError as error:
            raise UsageError(f"first_stage_options: {error}") from error

    def tokens_digest(self) -> bytes:
        """Return a digest of the settings that determine the words of a text."""
        choices = "\0".join(self.stop_words) + f"\0\0{self.language} {self.segmentation}"
        if self.vocabulary:
            choices += f" {self.vocabulary}"
        if self.phrases:
            choices += f"\0{self.phrases}"
        return blake2b(choices.encode(), digest_size=16).digest()


def _title_weight(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MAX_TITLE_WEIGHT:
        raise UsageError(f"the title weight must be a whole number from 1 to {MAX_TITLE_WEIGHT}, not {shown(value)}")
    return int(value)


def check_settings(settings: Settings) -> None:
    """Raise UsageError for invalid settings, and MissingExtra for words of an extra, before anything is created."""
    from moverank.indexer.values.ranking_spec import weights_named

    weights_named(settings.weights)
    _ = settings.ranking  # raises for an invalid one
    settings.joined_scorer()
    if settings.language == AUTO_LANGUAGE:
        check_detection()
    elif settings.segmentation == ICU:
        segmenter_of(ICU, settings.language)
    if settings.vocabulary is not None and settings.segmentation != VOCABULARY:
        raise UsageError(f"a vocabulary needs segmentation={VOCABULARY}, not {settings.segmentation}")
    check_first_stage(settings)


def check_first_stage(settings: Settings) -> None:
    """Raise UsageError for an encoder that does not exist, or is no longer installed, and for invalid options."""
    from moverank.indexer.values.given_vectors import check_metric
    from moverank.rerank.encoders.first_stages import choose_encoder

    try:
        if settings.encoder == GIVEN:
            check_metric(settings.encoder_options())
        else:
            choose_encoder(settings.encoder, settings.encoder_options())
    except EncoderError as error:
        raise UsageError(f"the first stage: {error}") from error


def _short(value: object) -> str:
    """Return a short form of a value for a message."""
    if value is None or value == ():
        return "the default"
    text = str(value)
    if isinstance(value, tuple):
        text = " ".join(value) if len(value) < 5 else f"{len(value)} words"
    return text if len(text) <= 60 else text[:57] + "..."
