"""What is chosen when a collection is made, and stored in it."""

from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from typing import Any, Literal

from moverank.indexer.errors import SettingsError, UsageError
from moverank.indexer.ranking_spec import ScorerChoice, scorer_named
from moverank.indexer.titles import MOST
from moverank.rerank.encoders.encoder_registry import choose
from moverank.rerank.errors import EncoderError
from moverank.rerank.scorers import SCORERS

Weights = Literal["tf", "tfidf"]

CHANGEABLE = frozenset({"weights", "gamma", "first_stage", "first_stage_options", "faiss"})
"""Settings that may change later: they concern weights and derived files, not what was read from the texts."""
_DERIVED = ("weights", "gamma", "first_stage", "first_stage_options", "faiss")


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of one collection.

    `embedding`: where word vectors come from: a path, "gensim:NAME", "train", "lsi", or "auto" until it is decided.
    `normalize`: word vectors are brought to unit length; None: only those trained here. `stop_words`: words left out.
    `title_weight`: how often the words of a title count where a document's first part begins with it. `gamma`:
    sensitivity to rank where a search names none. `first_stage`: the encoder of documents, with its options as
    "key=value"; with a scorer behind a plus, "fisher+bm25", the scorer's best are candidates, too. `faiss`: factory
    string of the first stage, or "auto": by size, each time it is written.
    """

    embedding: str = "auto"
    normalize: bool | None = None
    train_options: tuple[str, ...] = ()
    stop_words: tuple[str, ...] = ()
    title_weight: int = 1
    weights: Weights = "tf"
    gamma: float = 0.0
    first_stage: str = "centroid"
    first_stage_options: tuple[str, ...] = ()
    faiss: str = "auto"

    def stored(self) -> dict[str, Any]:
        """Return the choices as JSON values by name."""
        return asdict(self)

    @classmethod
    def restored(cls, values: dict[str, Any]) -> "Settings":
        """Rebuild the choices from what was stored, which JSON has turned into lists."""
        names = [field.name for field in fields(cls) if field.name in values]
        known: dict[str, Any] = {name: values[name] for name in names}
        for name, value in known.items():
            known[name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)

    def changed(self, choices: dict[str, Any]) -> "Settings":
        """Return the settings with other choices; SettingsError where one was made for good."""
        for name, value in choices.items():
            if name not in CHANGEABLE and value != getattr(self, name):
                raise SettingsError(
                    f"the collection was made with another {name.replace('_', ' ')} ({_short(getattr(self, name))}): "
                    "leave that option out, or make a new collection"
                )
        return replace(self, **choices)

    def derived_key(self) -> dict[str, Any]:
        """Return the choices that derived files depend on."""
        values = {name: getattr(self, name) for name in _DERIVED} | {"first_stage": self.encoder}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def encoder(self) -> str:
        """Return the name of the first stage's encoder."""
        return self.first_stage.partition("+")[0]

    def joined_scorer(self) -> ScorerChoice | None:
        """Return the scorer whose best are candidates beside the encoder's; UsageError where it is none."""
        _, plus, name = self.first_stage.partition("+")
        scorer = scorer_named(name) if plus else None
        if plus and scorer is None:
            raise UsageError(f"the first stage: there is no scorer {name!r} to join: choose {', '.join(SCORERS)}")
        return scorer

    def encoder_options(self) -> dict[str, str]:
        """Return the options of the first stage's encoder by name, as typed."""
        return dict(_pair(option) for option in self.first_stage_options)

    def tokens_digest(self) -> bytes:
        """Return a digest of the choices that decide which words a text has."""
        return blake2b("\0".join(self.stop_words).encode(), digest_size=16).digest()


def check_settings(settings: Settings) -> None:
    """Refuse choices that cannot be meant, before anything is made."""
    if settings.weights not in ("tf", "tfidf"):
        raise UsageError(f"weights must be tf or tfidf, not {settings.weights!r}")
    if not (isinstance(settings.title_weight, int) and 1 <= settings.title_weight <= MOST):
        raise UsageError(f"the title weight must be a whole number from 1 to {MOST}, not {settings.title_weight}")
    if not (settings.gamma >= 0 and settings.gamma < float("inf")):
        raise UsageError(f"gamma must be a number of 0 or more, not {settings.gamma}")
    try:
        settings.joined_scorer()
        choose(settings.encoder, settings.encoder_options())
    except EncoderError as error:
        raise UsageError(f"the first stage: {error}") from error


def _pair(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not (name and equals):
        raise UsageError(f"--first-stage-option {option!r} is not of the form KEY=VALUE")
    return name, value


def _short(value: object) -> str:
    """Show a choice in a sentence."""
    if value is None or value == ():
        return "the default"
    text = str(value)
    if isinstance(value, tuple):
        text = " ".join(value) if len(value) < 5 else f"{len(value)} words"
    return text if len(text) <= 60 else text[:57] + "..."
