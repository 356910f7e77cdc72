"""Probes of staleness on a live cluster, and of the predictor that Cassandra 1.2 had."""
