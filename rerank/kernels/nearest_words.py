"""The nearest words of each word, and lower bounds of the distances of pairs of bags by an inverted file over them."""

import numpy as np

from moverank.rerank.kernels.compiled import compiled


@compiled()
def keep_nearest_of_rows(first, last, floor, own, start, words, costs):  # type: ignore[no-untyped-def]
    """Lower the nearest words of the rows of `floor` (m, b) to its columns.

    `floor` are costs of words from `own` on, its rows, and others from `start` on, its columns. `words` (v, k) and
    `costs` (v, k) are the nearest words of each word so far, and their costs, increasing.
    """
    for i in range(first, last):
        for j in range(floor.shape[1]):
            if floor[i, j] < costs[own + i, -1]:
                _enter(words[own + i], costs[own + i], start + j, floor[i, j])


@compiled()
def _enter(words, costs, word, cost):  # type: ignore[no-untyped-def]
    """Enter a word in the place of the last one of `words` (k,), so that `costs` (k,) stay in increasing order."""
    place = len(costs) - 1
    while place > 0 and costs[place - 1] > cost:
        words[place], costs[place] = words[place - 1], costs[place - 1]
        place -= 1
    words[place], costs[place] = word, cost


@compiled()
def pair_bounds(first, last, bags, near, radius, postings, far, later, limit, out):  # type: ignore[no-untyped-def]
    """Fill `out` (last - first, n) with RWMD of each of `bags` from `first` to `last` and others, over near words only.

    `bags` are (starts, words, weights); `near` are (starts, words, costs) of the near words of each of their words;
    `postings` are (starts, bags, weights) of the other bags (n,) of each near word. Other words cost `radius` (v,), and
    `far` (n,) is the side of another bag without near words.

    If `later`, both are the same bags, near words include the word itself and increase by cost, only later bags are
    compared, and the side of the first bag of a pair is skipped where that of the other exceeds `limit`. If not, it is
    skipped everywhere.
    """
    nearest, found_by = np.empty(len(radius), np.float32), np.full(len(radius), -1)
    found, owner = np.empty(len(radius), np.int32), np.full(len(radius), -1)
    for row in range(first, last):
        lower, begin = out[row - first], row + 1 if later else 0
        count = _near_bag(row, bags, near, nearest, found, found_by)
        lower[begin:] = far[begin:]
        _subtract_savings(begin, found[:count], nearest, radius, postings, lower)
        for other in range(begin, len(far) if later else begin):
            if lower[other] <= limit:
                lower[other] = max(lower[other], far[row] - _savings(row, other, bags, near, radius, owner))


@compiled()
def _near_bag(row, bags, near, nearest, found, found_by):  # type: ignore[no-untyped-def]
    """Return the number of words near a bag; fill `found` with them, and `nearest` (v,) with their least costs."""
    starts, words, _ = bags
    near_starts, near_words, costs = near
    count = 0
    for entry in range(starts[row], starts[row + 1]):
        for place in range(near_starts[words[entry]], near_starts[words[entry] + 1]):
            word = near_words[place]
            if found_by[word] != row:
                found_by[word], found[count], nearest[word] = row, word, costs[place]
                count += 1
            else:
                nearest[word] = min(nearest[word], costs[place])
    return count


@compiled()
def _subtract_savings(begin, found, nearest, radius, postings, lower):  # type: ignore[no-untyped-def]
    """Subtract from `lower` (n,) the savings of each bag from `begin` on by the words `found` near it."""
    starts, bags, weights = postings
    for word in found:
        saves = radius[word] - nearest[word]
        if saves > 0:
            posting = starts[word + 1] - 1
            while posting >= starts[word] and bags[posting] >= begin:
                lower[bags[posting]] -= weights[posting] * saves
                posting -= 1


@compiled()
def _savings(row, other, bags, near, radius, owner):  # type: ignore[no-untyped-def]
    """Return the savings of the bag `row` by near words in the bag `other`; `owner` (v,) is scratch."""
    starts, words, weights = bags
    near_starts, near_words, costs = near
    pair = row * len(starts) + other
    for entry in range(starts[other], starts[other + 1]):
        owner[words[entry]] = pair
    savings = 0.0
    for entry in range(starts[row], starts[row + 1]):
        own = words[entry]
        for place in range(near_starts[own], near_starts[own + 1]):
            if owner[near_words[place]] == pair:  # the nearest of them
                savings += weights[entry] * max(radius[own] - costs[place], 0.0)
                break
    return savings
