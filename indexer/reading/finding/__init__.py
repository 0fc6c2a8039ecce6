"""The files that an index run reads: paths, patterns, ignore rules, origins."""
