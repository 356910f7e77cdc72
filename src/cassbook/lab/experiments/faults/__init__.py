"""Faults that strike a live cluster under load, and what each setting makes of them."""
