"""A unit of a text: what is compared as a whole."""

from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["word", "name", "limit", "number", "quantity", "date"]
"""`name` is a word with a digit, such as `p53`, the number in `IL-6`, a weekday, an active substance, or a word with a
capital in the middle of a sentence: near vectors make no two the same. `limit` is a quantifier, modal, condition or
ordinal."""

UnitKey = tuple[UnitKind, str, str]
"""Kind, value and polarity: "", "not", "if" of a word under a condition, or "not if"."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: code points `start` to `end` of a text, its kind, and its word or exact value in one way of writing."""

    start: int
    end: int
    kind: UnitKind
    value: str
    negated: bool = False
    """Whether a negation changes the word or the limit, or is right before the number or the date."""
    conditional: bool = False
    """Whether the word is said under a condition; always false for other kinds."""

    @property
    def key(self) -> UnitKey:
        """Return the key that equal units share."""
        return self.kind, self.value, f"{'not ' * self.negated}{'if' * self.conditional}".strip()
