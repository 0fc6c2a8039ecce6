"""Words that negate the words after them, by language; only words that do little else."""

NEGATIONS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne weder",
        "en": "not no never cannot without neither nor",
        "es": "no nunca jamás sin ningún ninguna ninguno ni tampoco",
        "fr": "ne n pas jamais sans aucun aucune ni",
        "it": "non senza nessun nessuna nessuno né",
        "nl": "niet geen nooit zonder noch",
        "pt": "não nunca sem nenhum nenhuma nem",
        "ru": "не нет без никогда ни",
        "sv": "inte ej aldrig utan",
    }.items()
}
"""The negations of each language that has a table; `n't` is one in every language."""

NO_NEGATIONS: dict[str, dict[str, frozenset[str]]] = {
    "de": {"nicht": frozenset({"nur"})},
    "en": {"not": frozenset({"only", "just", "merely"}), "no": frozenset({"doubt"})},
    "es": {"no": frozenset({"solo", "sólo"})},
    "fr": {"pas": frozenset({"seulement"})},
}
"""The words that take the meaning of a negation before them, as `only` in `not only`."""
