"""The documents of a collection by key, in order, and by filter; each reading sees one consistent state."""
