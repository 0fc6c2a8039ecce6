"""Checks of what others plug in, for their tests: public as `moverank.testing`."""
