"""Experiments at a distance, each for one question, on real nodes behind the relay."""
