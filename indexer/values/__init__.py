"""What a caller gives and gets: documents, settings, options, queries and rankings. Nothing here has state."""
