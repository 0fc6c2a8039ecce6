"""The commands of the command line; each imports the library inside its function, so that `--help` is fast."""
