"""Every claim of the five texts, recomputed from their own numbers, with a verdict."""
