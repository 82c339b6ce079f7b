"""Twins: the same numbers computed in the plainest way, importing nothing from umfi."""
