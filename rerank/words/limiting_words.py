"""Words that negate or limit other words, by language; only words with hardly another use."""

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

LIMITING_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "de": "alle allen aller alles keinesfalls nur höchstens mindestens maximal minimal mehr weniger über unter vor "
        "nach bis ab wenn falls außer darf dürfen muss müssen soll sollen sollte kann können nie immer selten oft "
        "erste ersten zweite zweiten",
        "en": "all every each any some few many none nobody nothing only least most more less fewer over under above "
        "below before after until till since unless if except may might must shall should can could always never "
        "rarely often up down first second minimum maximum",
        "es": "todo todos toda todas cada algún alguno alguna solo sólo menos más mínimo máximo sobre bajo antes "
        "después hasta desde si salvo puede pueden debe deben siempre primero primera segundo segunda",
        "fr": "tout tous toute toutes chaque quelque quelques seulement moins plus minimum maximum sur sous avant "
        "après jusque depuis si sauf peut peuvent doit doivent toujours premier première deuxième second seconde",
        "it": "tutto tutti tutta tutte ogni alcuno alcuni solo meno più minimo massimo sopra sotto prima dopo fino se "
        "salvo può possono deve devono sempre primo seconda secondo",
        "nl": "alle elk elke sommige alleen slechts minstens hoogstens meer minder boven onder voor na tot als tenzij "
        "behalve mag mogen moet moeten kan kunnen altijd eerste tweede",
        "pt": "todo todos toda todas cada algum alguma só apenas menos mais mínimo máximo sobre sob antes depois até "
        "desde se salvo pode podem deve devem sempre primeiro primeira segundo segunda",
        "ru": "все всё каждый некоторые только менее более меньше больше над под до после перед если кроме может могут "
        "должен должны всегда первый второй",
        "sv": "alla varje några bara endast minst högst mer mindre över under före efter tills om utom får måste ska "
        "kan alltid första andra",
    }.items()
}
"""Quantifiers, comparators, modals, conditions and ordinals: texts that differ in one state different things."""
