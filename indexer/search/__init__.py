"""Search, from a text or a stored document to a ranking: query, view, first stage, distance or scorer, hits."""
