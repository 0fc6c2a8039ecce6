"""Numerics of search by Word Mover's Distance, without state: functions of arrays and frozen types."""
