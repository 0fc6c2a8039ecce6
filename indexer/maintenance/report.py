"""The result of a check: one sentence for each kind of fault."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Faults of the collection as a whole, `general`, and examples of each kind of fault.

    For repairs: ids of the `documents` to index again; by id the `texts` of parts whose counts are invalid, correct
    `frequencies` and `rows` of words, and correct `wordless` flags of documents. `vectors`: the word vectors are
    unusable.
    """

    general: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    frequencies: dict[int, int] = field(default_factory=dict)
    wordless: dict[int, bool] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    vectors: bool = False
    _examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, example: object) -> None:
        """Add an example of a kind of fault."""
        self._examples.setdefault(kind, []).append(repr(example))

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence for each kind of fault; none if the collection is intact."""
        counted = [
            f"{examples[0]} {kind}" + (f", and {len(examples) - 1:,} more" if len(examples) > 1 else "")
            for kind, examples in self._examples.items()
        ]
        return (*self.general, *counted)
