"""The abilities of a collection, each one record of its options with one answer."""
