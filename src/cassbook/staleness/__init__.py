"""Staleness: predicted in the manner of PBS, and measured."""
