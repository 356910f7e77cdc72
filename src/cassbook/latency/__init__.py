"""Latency and throughput: cold start, summaries, regression, mixing, saturation, validation."""
