"""Profiles: every number that a measurement depends on, read from YAML and checked."""
