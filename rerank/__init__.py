"""Exact reranking by Word DistanceRanker's Distance: arrays and frozen types in, arrays and frozen types out."""
