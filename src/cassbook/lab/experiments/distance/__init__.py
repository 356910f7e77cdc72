"""Experiments at a distance: coordinators, uplinks, proxies, time-outs."""
