"""One module for each format of documents and threads."""
