"""Experiments about interleaving: what one slice leaves to the next, and what the design buys."""
