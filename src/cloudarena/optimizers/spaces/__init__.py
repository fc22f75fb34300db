"""Designs that are numbered, not stored, and how they are coded for genetic methods."""
