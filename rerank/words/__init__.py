"""Words: how a text is split, which words are skipped, and which vector each word has."""
