"""Changes to a collection: creation, synchronisation with records, word counts, training of word vectors."""
