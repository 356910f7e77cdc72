"""The 2021 paper on deployment scenarios."""
