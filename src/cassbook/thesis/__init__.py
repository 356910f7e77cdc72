"""The thesis's experiments and its three multiple regressions (section 4.4), from our own measurements."""
