"""The result of a check: one sentence for each kind of fault."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """The faults of a collection: sentences with examples, and the rows to repair."""

    general: list[str] = field(default_factory=list)
    """Faults of the collection as a whole."""
    documents: list[int] = field(default_factory=list)
    """Ids of the documents to index again."""
    texts: dict[int, str] = field(default_factory=dict)
    """Texts of parts with invalid counts, by the ids of the parts."""
    frequencies: dict[int, int] = field(default_factory=dict)
    """Correct document frequencies by the ids of words."""
    wordless: dict[int, bool] = field(default_factory=dict)
    """Correct flags `wordless` by the ids of documents."""
    rows: dict[int, int] = field(default_factory=dict)
    """Correct rows of word vectors by the ids of words."""
    vectors: bool = False
    """Whether the word vectors are unusable."""
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
