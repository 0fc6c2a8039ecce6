"""Errors of `rerank`.

RerankError
├── BagError         a bag breaks its own rules (ids not increasing, weights not positive, ...)
├── EmbeddingError   vectors are ragged, not finite, or their words are not distinct
├── EncoderError     an encoder or its options are unknown, or what it is given does not fit together
├── EvaluationError  an experiment that cannot be meant: no judgments, shapes that do not fit, too few documents
├── NoKnownWords     a text has no word with a vector: it has no place in the space
├── OptionError      an option has a value that it does not take; encoders and scorers raise their own error for it
├── ScorerError      a scorer or its options are unknown, or what it is given does not fit together
└── TransportError   the solver did not reach the optimum
"""


class RerankError(Exception):
    """Whatever `rerank` refuses."""


class BagError(RerankError, ValueError):
    """A bag breaks its own rules."""


class EmbeddingError(RerankError, ValueError):
    """An embedding breaks its own rules."""


class EncoderError(RerankError, ValueError):
    """An encoder cannot be had like that, or was given what does not fit together."""


class EvaluationError(RerankError, ValueError):
    """An experiment cannot be done like that, or was given what does not fit together."""


class NoKnownWords(RerankError, ValueError):  # noqa: N818 - named after what happened, as in `rerank.NoKnownWords`
    """A text has no word with a vector."""


class OptionError(RerankError, ValueError):
    """An option does not take a value."""


class ScorerError(RerankError, ValueError):
    """A scorer cannot be had like that, or was given what does not fit together."""


class TransportError(RerankError, RuntimeError):
    """The transport solver stopped before the optimum."""
