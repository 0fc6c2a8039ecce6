"""Numbers of words in a hash table: splitting texts into words and counting these takes one pass over the bytes.

Words are numbered from 0. `words` (bytes,) uint8 is their concatenation, `ends` (capacity,) int64 the end of each in
it, `hashes` (capacity,) uint64 their hash values, and `sizes` (2,) int64 the numbers of words and bytes. `slots` (a
power of 2,) int32 is the hash table with open addressing: the number of a word, or -1. It is kept at most half full.
`places` (capacity,) int64 say where the last text that has a word counts it.

Sparse rows: their transpose, and rows in which several columns take the place of each.
"""

import numpy as np

from moverank.rerank.kernels.compiled import compiled

_PRIME = np.uint64(0x100000001B3)  # of FNV-1a
_SHIFT = np.uint64(32)


@compiled()
def count_words(text, text_ends, first, kinds, seed, table, sizes, base, numbers, counts, lengths):  # type: ignore[no-untyped-def]
    """Count the words of texts, and add new words to the table; return the number of texts processed.

    `text` (n,) uint8 are the texts from `first` on, concatenated, each up to its entry of `text_ends` (m,) int64, and
    `kinds` (256,) uint8 the byte that each byte stands for within a word, 0 for one between words. `numbers` (words,)
    int32 are the numbers of the different words of each text, in the order of their first occurrence, `counts` (words,)
    int32 how often they occur in it, and `lengths` (m,) int64 how many there are of each text. `seed` (1,) uint64 is
    where hash values begin, and `table` is (words, ends, hashes, places, slots). Places count from `base`, which is
    above all places of earlier calls. The call ends before a text that the table has no room for: the words of that
    text may have been added.
    """
    words, ends, hashes, places, slots = table
    mask, done = np.uint64(len(slots) - 1), 0
    for row in range(first):
        done += lengths[row]
    for row in range(first, len(text_ends)):
        at = text_ends[row - 1] if row else 0
        last, before = text_ends[row], done
        while at < last:
            kind = kinds[text[at]]
            if kind == 0:
                at += 1
                continue
            begin, hashed = at, seed[0]
            while kind != 0:
                hashed = (hashed ^ np.uint64(kind)) * _PRIME
                at += 1
                kind = kinds[text[at]] if at < last else np.uint8(0)
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
                    for i in range(before, done):  # they are counted again
                        places[numbers[i]] = -1
                    return row
                for i in range(at - begin):
                    words[sizes[1] + i] = kinds[text[begin + i]]
                sizes[0] += 1
                sizes[1] += at - begin
                ends[number], hashes[number], slots[slot], places[number] = sizes[1], hashed, number, -1
            place = places[number] - base
            if place >= before:
                counts[place] += 1
            else:
                numbers[done], counts[done], places[number] = number, 1, base + done
                done += 1
        lengths[row] = done - before
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


@compiled()
def transposed(starts, columns, values, count):  # type: ignore[no-untyped-def]
    """Return the transpose of compressed sparse rows, as starts (`count` + 1,) int64, rows int32 and values.

    `starts` is (n + 1,), `columns` (nnz,), each below `count`, in any order, and `values` (nnz,) float64. The values of
    a column that is there several times in a row are added up.
    """
    ends, last = np.zeros(count + 1, np.int64), np.full(count, -1, np.int64)
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if last[column] != row:
                last[column] = row
                ends[column + 1] += 1
    for column in range(count):
        ends[column + 1] += ends[column]
    own, rows, sums = ends.copy(), np.empty(ends[count], np.int32), np.zeros(ends[count])
    last[:] = -1
    for row in range(len(starts) - 1):
        for entry in range(starts[row], starts[row + 1]):
            column = columns[entry]
            if last[column] != row:
                last[column] = row
                rows[own[column]] = row
                own[column] += 1
            sums[own[column] - 1] += values[entry]
    return ends, rows, sums


@compiled()
def replaced(starts, columns, values, new_starts, new):  # type: ignore[no-untyped-def]
    """Return compressed sparse rows in which each column is replaced by several, which all have its value.

    Column c is replaced by the slice `new_starts[c]:new_starts[c + 1]` of `new` (m,) int32; a column may be there
    several times in a row of the result. For the other arrays, see `transposed`.
    """
    ends = np.empty(len(starts), np.int64)
    total = 0
    for row in range(len(starts) - 1):
        ends[row] = total
        for entry in range(starts[row], starts[row + 1]):
            total += new_starts[columns[entry] + 1] - new_starts[columns[entry]]
    ends[len(starts) - 1] = total
    new_columns, new_values, done = np.empty(total, np.int32), np.empty(total), 0
    for entry in range(starts[0], starts[len(starts) - 1]):
        for place in range(new_starts[columns[entry]], new_starts[columns[entry] + 1]):
            new_columns[done], new_values[done] = new[place], values[entry]
            done += 1
    return ends, new_columns, new_values
