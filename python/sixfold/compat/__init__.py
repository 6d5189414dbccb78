"""Modules that take the place of those of other programs."""
