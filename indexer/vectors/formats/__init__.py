"""One module for each format of word vectors."""
