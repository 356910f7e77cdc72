"""Readers of recorded runs and experiments, one per kind of record; nothing here starts anything."""
