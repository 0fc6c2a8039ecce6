"""What a collection holds: documents by key, in order, and by filter; each reading sees one consistent state."""
