"""The other ranking methods of the papers: topic models, autoencoders and further scorers.

Adds the encoders `lda`, `msda` and `ccg`, and the scorers `pl2`, `translation` and `interpolation`: the entry points of
the groups `moverank.encoders` and `moverank.scorers` name them. Needs gensim to fit `lda`; `translation` is a
`SummingScorer`. For experiments that compare methods, and for texts that one of them suits: the default ranking and
the default first stage use none.
"""
