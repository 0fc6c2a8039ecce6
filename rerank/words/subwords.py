"""Vectors composed of the parts of a word: character n-grams as fastText learns them, or pieces of a tokenizer."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EmbeddingError, MissingExtra
from moverank.rerank.words.vocabulary import encoded


class Splitter(Protocol):
    """Splits words into subwords that have vectors."""

    @property
    def key(self) -> tuple[object, ...]:
        """Return the identity of this splitter: equal keys mean equal subwords."""
        ...

    def rows(self, word: str, buckets: int) -> list[int]:
        """Return the row of every subword of `word` in a matrix of `buckets` rows; none: the word is unknown."""
        ...


@dataclass(frozen=True, slots=True)
class NGrams:
    """The n-grams of `min_n` to `max_n` characters of `<word>` (Bojanowski et al. 2017, section 3.2)."""

    min_n: int
    max_n: int

    @property
    def key(self) -> tuple[object, ...]:
        """See `Splitter.key`."""
        return self.min_n, self.max_n

    def rows(self, word: str, buckets: int) -> list[int]:
        """Return the bucket of every n-gram of `word`, by 32-bit FNV-1a over its UTF-8.

        As in fastText, each byte is a signed char in the exclusive or, so that a byte of 128 or more also flips the
        upper 24 bits. An n-gram that is only a boundary character, `<` or `>`, is skipped.
        """
        if not buckets:
            return []
        rows = []
        # The bytes of each character, sign-extended to 32 bits.
        characters = [[b | 0xFFFFFF00 if b > 127 else b for b in encoded(c)] for c in f"<{word}>"]
        last = len(characters)
        for start in range(last):
            value = 2166136261
            for end in range(start + 1, min(start + self.max_n, last) + 1):
                for byte in characters[end - 1]:
                    value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
                length = end - start
                if length >= self.min_n and not (length == 1 and (start == 0 or end == last)):
                    rows.append(value % buckets)
        return rows


@dataclass(frozen=True)
class Pieces:
    """The tokens of a text that is the word alone; `tokenizer` is the text of a `tokenizer.json`.

    `drop_unknown`: the token for unknown characters is left out, as model2vec does; Sentence Transformers averages
    its vector with the others. A word of which every token is unknown has no pieces.
    """

    tokenizer: str
    drop_unknown: bool

    def __reduce__(self) -> tuple[type["Pieces"], tuple[str, bool]]:
        """Pickle the text: it is parsed again."""
        return Pieces, (self.tokenizer, self.drop_unknown)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """See `Splitter.key`."""
        return "pieces", hashlib.sha256(encoded(self.tokenizer)).hexdigest(), self.drop_unknown

    @cached_property
    def size(self) -> int:
        """Return the number of rows that a matrix of the tokens' vectors has at least."""
        return max(self._parsed.get_vocab().values(), default=-1) + 1

    def rows(self, word: str, buckets: int) -> list[int]:
        """See `Splitter.rows`; EmbeddingError if the tokenizer cannot be read, or has more tokens than vectors."""
        if self.size > buckets:
            raise EmbeddingError(f"the tokenizer has {self.size:,} tokens, but there are {buckets:,} vectors")
        try:
            ids: list[int] = _called(self._parsed.encode, word, add_special_tokens=False).ids
        except EmbeddingError:
            raise
        except Exception:  # noqa: BLE001 - bare ones: a lone surrogate, or no token for unknown words
            return []
        known = [id_ for id_ in ids if id_ != self._unknown]
        return ids if known and not self.drop_unknown else known

    def words(self, buckets: int) -> Iterator[tuple[str, int]]:
        """Yield the tokens that are words, and their rows: a text that is this word alone has no other piece."""
        for id_ in range(self.size):  # not as a batch: its threads make tokenizers warn of every later fork
            word = _called(self._parsed.decode, [id_]).strip()
            if word and self.rows(word, buckets) == [id_]:
                yield word, id_

    @cached_property
    def _unknown(self) -> int | None:
        model = self._parsed.model
        if hasattr(model, "unk_token"):
            unknown: int | None = None if model.unk_token is None else self._parsed.token_to_id(model.unk_token)
        else:  # Unigram has a number, and no name
            unknown = json.loads(self.tokenizer)["model"].get("unk_id")
        return unknown

    @cached_property
    def _parsed(self) -> Any:
        with static_imports("a word of a static embedding model"):
            from tokenizers import Tokenizer
        try:
            parsed = _called(Tokenizer.from_str, self.tokenizer)
        except EmbeddingError:
            raise
        except Exception as error:  # a bare one
            raise _unusable("cannot be read", error) from error
        parsed.no_padding()
        return parsed


def _called(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call compiled code of a tokenizer; EmbeddingError if Rust panics, which raises no Exception in Python."""
    try:
        return function(*arguments, **options)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _unusable("is damaged", error) from error


def _unusable(fault: str, error: BaseException) -> EmbeddingError:
    reason = str(error).partition("\n")[0]
    return EmbeddingError(f"the tokenizer {fault}: {reason}")


@contextmanager
def static_imports(use: str) -> Iterator[None]:
    """Guard imports of the extra `static`: MissingExtra says that `use` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("huggingface_hub", "safetensors", "tokenizers"):
            raise
        raise MissingExtra(f"{use} needs the package {error.name}: python -m pip install 'moverank[static]'") from error


@dataclass(frozen=True, slots=True, eq=False)
class Subwords:
    """Vectors of subwords `buckets` (b, d) float32; a word has the mean of those that `split` names.

    `before` is called with the rows that are about to be read: see `Embedding`. Raises EmbeddingError unless
    `buckets` is a float32 matrix.
    """

    buckets: NDArray[np.float32]
    split: Splitter
    before: Callable[[NDArray[np.integer[Any]]], None] | None = None

    def __post_init__(self) -> None:
        if self.buckets.ndim != 2 or self.buckets.dtype != np.float32:
            kind = f"{self.buckets.ndim}-dimensional {self.buckets.dtype}"
            raise EmbeddingError(f"subword buckets must be a float32 matrix, not {kind}")

    def in_memory(self) -> "Subwords":
        """Return a copy that needs no file; see `Embedding.in_memory`."""
        if self.before:
            self.before(np.arange(len(self.buckets)))
        return Subwords(np.array(self.buckets), self.split)

    def rows(self, word: str) -> list[int]:
        """Return the row of every subword of `word`; none: the word is unknown."""
        return self.split.rows(word, len(self.buckets))

    def compose(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean (n, d) of the vectors of each word's subwords; EmbeddingError for a word without any."""
        rows = [self.rows(word) for word in words]
        if [] in rows:
            raise EmbeddingError(f"the word {words[rows.index([])]!r} has no subwords to compose a vector of")
        if self.before and rows:
            self.before(np.concatenate(rows))
        composed = np.empty((len(rows), self.buckets.shape[1]), np.float32)
        for i, own in enumerate(rows):
            composed[i] = self.buckets[own].mean(axis=0, dtype=np.float32)
        return composed

    def lengths(self, words: Sequence[str], *, summed: bool) -> NDArray[np.float64]:
        """Return the length (n,) of the mean of the vectors of each word's subwords, or of their sum; see `compose`."""
        means = self.compose(words).astype(np.float64)
        lengths: NDArray[np.float64] = np.sqrt((means * means).sum(axis=1))
        return lengths * [len(self.rows(word)) for word in words] if summed else lengths
