"""Titles at the beginning of texts: told apart, left out, or counted more than once."""

from dataclasses import replace

from moverank.indexer.documents import Document

MOST = 100
"""How often the words of a title may count: more would be a collection of titles."""


def begins_with_title(text: str, title: str) -> bool:
    """Say whether the title is where the text begins, whatever its case, and ends there with a word."""
    there = text[: len(title)].casefold() == title.casefold() and not text[len(title) : len(title) + 1].isalnum()
    return bool(title) and there


def without_title(text: str, title: str) -> str:
    """Leave out a title that the text begins with, however often."""
    while begins_with_title(text, title):
        text = text[len(title) :].lstrip()
    return text


def with_weighty_title(document: Document, weight: int) -> Document:
    """Return the document with its title `weight` times in its first part; the same one if that does not begin with it.

    The words of a title say more than others what a text is about.
    """
    if weight == 1 or not document.parts:
        return document
    first, *others = document.parts
    if not begins_with_title(" ".join(first.text.split()), document.title):
        return document
    titles = f"{document.title}\n" * (weight - 1)
    return replace(document, parts=(replace(first, text=titles + first.text), *others))
