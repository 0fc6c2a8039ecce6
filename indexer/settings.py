"""The settings of a collection, stored in it."""

from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from numbers import Integral
from typing import TYPE_CHECKING, Any

from moverank.indexer.arguments import finite_number, place, shown, switch, text, texts
from moverank.indexer.documents import MAX_TITLE_WEIGHT, TITLE_WEIGHT
from moverank.indexer.errors import SettingsError, UsageError
from moverank.rerank.errors import EncoderError, OptionError
from moverank.rerank.ranking import AUTO_RANK
from moverank.rerank.words.languages import DEFAULT, NO_LANGUAGE, language_of
from moverank.rerank.words.segmentation import AUTO, WHOLE, segmenter_of
from moverank.rerank.words.tokenizer import (
    AUTO_WORDS,
    ENGLISH,
    FOLDED,
    NO_STOP_WORDS,
    PLAIN,
    VERSIONS,
    StopWords,
    Tokenizer,
    stop_words,
    tokenizer_of,
)

if TYPE_CHECKING:
    from moverank.indexer.given_vectors import Space
    from moverank.indexer.ranking_spec import RankingSpec, ScorerChoice, Weights


_DERIVED = ("weights", "gamma", "title_weight", "first_stage", "first_stage_options", "faiss")
CHANGEABLE = (*_DERIVED, "first_stage_in", "rank")
"""Settings that may change later: weights and derived files depend on them, the stored word counts do not."""

FILES, DATABASE = "files", "database"
"""The places of the first stage's vectors: files of each machine, or a database that machines share."""

AUTO_EMBEDDING = "auto"
"""The source of word vectors while there are none, or too few texts to learn them from."""

DEFAULT_K1 = 1.6
"""The k1 of BM25 in the default ranking: words of titles count several times, and saturate later."""


def default_rank(gamma: float, *, stem: str | None, embedding: str = "") -> str:
    """Return the ranking of collections with `gamma`, whose words have the stems of `stem`, a language, or none.

    It is the best of a grid on eight judged collections. Vectors trained on the texts themselves by skip-gram ("train")
    are weaker evidence of the topic: words count more, the cosine less. Too few texts teach nothing ("auto"): words
    alone rank. See the manual's page `ranking`.
    """
    bm25 = f"bm25:k1={DEFAULT_K1}" + (f",stem={stem}" if stem else "")
    if embedding == AUTO_EMBEDDING:
        return bm25
    distance = f"{'pwmd' if gamma else 'wmd'}:mu=20,weights=tfidf"
    if embedding == "train":
        return f"{distance}+2*cover+6*bm25{f':stem={stem}' if stem else ''}+cosine"
    return f"{distance}+0.5*cover+2*{bm25}+cosine"


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
    faiss: str = "auto"
    """Factory string of the first stage's index, or "auto": chosen by size whenever the index is written."""
    first_stage_in: str = FILES
    """The place of the first stage's vectors: `FILES`, or `DATABASE` for PostgreSQL, where `faiss` chooses the exact
    order or an HNSW index."""
    language: str = DEFAULT
    """The ISO code of the texts' language, "none" for others and for several; OptionError for an unknown one."""
    tokenizer_version: int = FOLDED
    """The rule by which texts are split into words, one of `VERSIONS`: a collection keeps that of its creation."""
    segmentation: str = AUTO
    """How scripts without spaces are split: "icu", "characters" or "none"; "auto" becomes one of these by the language,
    and by what is installed. OptionError for anything else."""

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type, or a number out of its range; see also `check_settings`."""
        version = _tokenizer_version(self.tokenizer_version)
        tokenizer = tokenizer_of(self.stop_words, self.language, version, self.segmentation)
        checked: dict[str, Any] = {
            "language": tokenizer.language,
            "tokenizer_version": version,
            "segmentation": tokenizer.segmentation,
            "embedding": place("embedding", self.embedding),
            "normalize": None if self.normalize is None else switch("normalize", self.normalize),
            "stop_words": tuple(sorted(tokenizer.stop_words)),
            "title_weight": _title_weight(self.title_weight),
            "gamma": finite_number("gamma", self.gamma),
        }
        for name in ("train_options", "first_stage_options"):
            checked[name] = tuple(texts(name.replace("_", " "), getattr(self, name)))
        for name in ("weights", "rank", "first_stage", "faiss", "first_stage_in"):
            checked[name] = text(name.replace("_", " "), getattr(self, name))
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def stored(self) -> dict[str, Any]:
        """Return the settings as JSON values by name."""
        return asdict(self)

    @classmethod
    def restored(cls, values: dict[str, Any]) -> "Settings":
        """Restore the settings from stored values, whose tuples JSON has turned into lists."""
        names = [field.name for field in fields(cls) if field.name in values]
        known: dict[str, Any] = {name: values[name] for name in names}
        known.setdefault("rank", "")  # collections of 0.1.0 have none
        known |= {"tokenizer_version": PLAIN, "segmentation": WHOLE} | known  # nor these, nor a language
        for name, value in known.items():
            known[name] = tuple(value) if isinstance(value, list) else value
        restored = cls(**known)
        if "language" not in known and restored._stop_list != ENGLISH:
            # Before there were languages, words had English stems with the English stop words only.
            return replace(restored, language=NO_LANGUAGE)
        return restored

    def changed(self, choices: dict[str, Any]) -> "Settings":
        """Return the settings changed by `choices` (name -> value); SettingsError if a permanent one differs."""
        if choices.get("segmentation") == AUTO:  # chosen when the collection was made
            choices = {**choices, "segmentation": self.segmentation}
        changed = replace(self, **choices)
        for name in choices:
            before = getattr(self, name)
            if name not in CHANGEABLE and getattr(changed, name) != before:
                other = f"another {name.replace('_', ' ')} ({_short(before)})"
                if name == "stop_words":
                    other = f"other stop words ({self._stop_list})"
                raise SettingsError(
                    f"the collection was made with {other}: leave that option out, or make a new collection"
                )
        return changed

    def derived_key(self) -> dict[str, Any]:
        """Return the settings on which derived files depend."""
        values = {name: getattr(self, name) for name in _DERIVED} | {"first_stage": self.encoder}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def specification(self) -> str:
        """Return the specification of the collection's own ranking."""
        if self.rank == AUTO_RANK:
            return default_rank(self.gamma, stem=self.stem, embedding=self.embedding)
        return self.rank or ("pwmd" if self.gamma else "wmd")

    @property
    def stem(self) -> str | None:
        """Return the language whose stems the default ranking counts, None where there is no stemmer."""
        return language_of(self.language).stemmer

    @property
    def tokenizer(self) -> Tokenizer:
        """Return what splits texts and queries into words."""
        return Tokenizer(frozenset(self.stop_words), self.language, self.tokenizer_version, self.segmentation)

    @property
    def ranking(self) -> "RankingSpec":
        """Return the collection's own ranking, with the default gamma and weights."""
        from moverank.indexer.ranking_spec import own_ranking

        return own_ranking(self.specification, self.gamma, self.weights)

    @property
    def _stop_list(self) -> str:
        """Return the name of the list of stop words, or a short form of the words."""
        if not self.stop_words:
            return NO_STOP_WORDS
        words = frozenset(self.stop_words)
        if words == stop_words(ENGLISH, self.language, self.tokenizer_version):
            return ENGLISH
        listed = stop_words(AUTO_WORDS, self.language, self.tokenizer_version)
        return self.language if words == listed else _short(self.stop_words)

    @property
    def encoder(self) -> str:
        """Return the name of the first stage's encoder, or `GIVEN`."""
        return self.first_stage.partition("+")[0]

    def space(self, dim: int) -> "Space | None":
        """Return the space of the given vectors, which have `dim` dimensions; None with an encoder."""
        from moverank.indexer.given_vectors import GIVEN, Space, metric_of

        return Space(metric_of(self.encoder_options()), dim) if self.encoder == GIVEN else None

    def joined_scorer(self) -> "ScorerChoice | None":
        """Return the scorer whose best documents are candidates, too, or None; UsageError for an unknown one."""
        from moverank.indexer.ranking_spec import scorer_named
        from moverank.rerank.scorers import SCORERS
        from moverank.rerank.scorers.scorer_registry import PLUG_INS

        _, plus, name = self.first_stage.partition("+")
        scorer = scorer_named(name) if plus else None
        if plus and scorer is None:
            names = ", ".join((*SCORERS, *PLUG_INS.names()))
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
        choices = "\0".join(self.stop_words)
        if self.tokenizer_version != PLAIN:  # by the first rule, no language had an effect
            choices += f"\0\0{self.tokenizer_version} {self.language} {self.segmentation}"
        return blake2b(choices.encode(), digest_size=16).digest()


def _tokenizer_version(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) not in VERSIONS:
        raise UsageError(f"the tokenizer has the versions {' and '.join(map(str, VERSIONS))}, not {shown(value)}")
    return int(value)


def _title_weight(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MAX_TITLE_WEIGHT:
        raise UsageError(f"the title weight must be a whole number from 1 to {MAX_TITLE_WEIGHT}, not {shown(value)}")
    return int(value)


def check_settings(settings: Settings) -> None:
    """Raise UsageError for invalid settings, and MissingExtra for ICU, before anything is created."""
    from moverank.indexer.ranking_spec import weights_named

    weights_named(settings.weights)
    _ = settings.ranking  # raises for an invalid one
    settings.joined_scorer()
    if settings.segmentation != WHOLE:
        segmenter_of(settings.segmentation, settings.language)
    if settings.first_stage_in not in (FILES, DATABASE):
        raise UsageError(f"the first stage is in {FILES} or the {DATABASE}, not in {settings.first_stage_in!r}")
    check_first_stage(settings)


def check_first_stage(settings: Settings) -> None:
    """Raise UsageError for an encoder that does not exist, or is no longer installed, and for invalid options."""
    from moverank.indexer.given_vectors import GIVEN, check_metric
    from moverank.rerank.encoders.encoder_registry import choose_encoder

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
