"""What was found wrong: one sentence a kind, however many documents have it."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Sentences about the whole, and for each kind of fault what has it.

    `documents` are the ids whose stored text is not what was indexed, `texts` those of parts whose counts cannot be, by
    the part's id; `frequencies` and `rows` what words should have, `wordless` what documents should say of themselves,
    by id. `vectors`: the word vectors cannot be used.
    """

    sentences: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    frequencies: dict[int, int] = field(default_factory=dict)
    wordless: dict[int, bool] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    vectors: bool = False
    _kinds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, example: object) -> None:
        """Count one more that has a fault of this kind."""
        self._kinds.setdefault(kind, []).append(repr(example))

    def told(self) -> tuple[str, ...]:
        """Return one sentence a kind."""
        counted = [
            f"{found[0]} {kind}" + (f", and {len(found) - 1:,} more" if len(found) > 1 else "")
            for kind, found in self._kinds.items()
        ]
        return (*self.sentences, *counted)
