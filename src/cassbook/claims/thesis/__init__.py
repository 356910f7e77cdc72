"""The thesis on consistency and latency."""
