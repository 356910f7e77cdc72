"""How fast the library is, always as a ratio to what bounds it, measured side by side in one run (`make bench`)."""
