"""Numbers of words in a hash table: splitting texts into words and finding these takes one pass over the bytes.

Words are numbered from 0. `words` (bytes,) uint8 is their concatenation, `ends` (capacity,) int64 the end of each in
it, `hashes` (capacity,) uint64 their hash values, and `sizes` (2,) int64 how many words and bytes there are. `slots`
(a power of 2,) int32 is the hash table with open addressing: the number of a word, or -1. It is kept at most half full.
"""

import numpy as np

from moverank.rerank.kernels.compiled import compiled

_PRIME = np.uint64(0x100000001B3)  # of FNV-1a
_SHIFT = np.uint64(32)


@compiled()
def number_words(text, text_ends, first, kinds, seed, table, sizes, numbers, counts):  # type: ignore[no-untyped-def]
    """Write the numbers of the words of texts, and add new words to the table; return the number of texts processed.

    `text` (n,) uint8 are the texts from `first` on, concatenated, each up to its entry of `text_ends` (m,) int64, and
    `kinds` (256,) uint8 the byte that each byte stands for within a word, 0 for one between words. `numbers` (words,)
    int32 are those of all words in order, and `counts` (m,) int64 says how many there are of each text. `seed` (1,)
    uint64 is where hash values begin, and `table` is (words, ends, hashes, slots). It ends before a text that the table
    has no room for: the words of that text may have been added.
    """
    words, ends, hashes, slots = table
    mask, done = np.uint64(len(slots) - 1), 0
    for row in range(first):
        done += counts[row]
    for row in range(first, len(text_ends)):
        at = text_ends[row - 1] if row else 0
        last, before = text_ends[row], done
        while at < last:
            if kinds[text[at]] == 0:
                at += 1
                continue
            begin, hashed = at, seed[0]
            while at < last and kinds[text[at]] != 0:
                hashed = (hashed ^ np.uint64(kinds[text[at]])) * _PRIME
                at += 1
            hashed ^= hashed >> _SHIFT
            slot = hashed & mask
            while True:
                number = slots[slot]
                if number < 0:
                    break
                if hashes[number] == hashed:
                    start = ends[number - 1] if number else 0
                    same = ends[number] - start == at - begin
                    i = 0
                    while same and i < at - begin:
                        same = words[start + i] == kinds[text[begin + i]]
                        i += 1
                    if same:
                        break
                slot = (slot + np.uint64(1)) & mask
            if number < 0:
                number = np.int32(sizes[0])
                if 2 * (number + 1) > len(slots) or number == len(ends) or sizes[1] + at - begin > len(words):
                    return row
                for i in range(at - begin):
                    words[sizes[1] + i] = kinds[text[begin + i]]
                sizes[0] += 1
                sizes[1] += at - begin
                ends[number], hashes[number], slots[slot] = sizes[1], hashed, number
            numbers[done] = number
            done += 1
        counts[row] = done - before
    return len(text_ends)


@compiled()
def fill_slots(hashes, count, slots):  # type: ignore[no-untyped-def]
    """Enter the first `count` words into empty `slots`."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = hashes[number] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number
