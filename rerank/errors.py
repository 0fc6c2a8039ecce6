"""Errors of `rerank`.

RerankError
├── BagError         a bag violates its invariants (ids not increasing, weights not positive, ...)
├── EmbeddingError   vectors are ragged or not finite, or words repeat
├── EncoderError     an unknown encoder or option, or input that does not match the encoder
├── EvaluationError  an invalid experiment: no judgments, shapes that do not match, too few documents
├── MissingExtra     the package of an adapter's host, of an extra, or gensim, is not installed
├── NoKnownWords     no word of a text has a vector, so the text has no bag
├── OptionError      an invalid value of an option; encoders and scorers raise their own error instead
├── OutOfTime        the time was used up before there was an answer
├── ScorerError      an unknown scorer or option, or input that does not match the scorer
├── TooLarge         texts, or the answer, need more memory than the limit
└── TransportError   the solver did not reach the optimum
"""


class RerankError(Exception):
    """Base class of all errors of `rerank`."""


class BagError(RerankError, ValueError):
    """A bag violates its invariants."""


class EmbeddingError(RerankError, ValueError):
    """An embedding violates its invariants."""


class EncoderError(RerankError, ValueError):
    """An encoder or option is unknown, or the input does not match the encoder."""


class EvaluationError(RerankError, ValueError):
    """An experiment is invalid, or its inputs do not match each other."""


class MissingExtra(RerankError, ImportError):  # noqa: N818 - the name states the condition
    """The package of an adapter's host, of an extra, or gensim, is not installed."""


class NoKnownWords(RerankError, ValueError):  # noqa: N818 - the name states the condition
    """No word of a text has a vector."""


class OptionError(RerankError, ValueError):
    """The value of an option is invalid."""


class OutOfTime(RerankError):  # noqa: N818 - named after what happened
    """The time was used up, or the caller has left, before there was an answer."""


class ScorerError(RerankError, ValueError):
    """A scorer or option is unknown, or the input does not match the scorer."""


class TooLarge(RerankError, ValueError):  # noqa: N818 - named after the texts
    """Texts, or the answer to a search, need more memory than the limit."""


class TransportError(RerankError, RuntimeError):
    """The transport solver stopped before the optimum."""
