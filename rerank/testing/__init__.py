"""Checks of encoders and scorers of other packages, for their tests: public as `moverank.testing`."""
