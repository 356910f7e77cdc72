"""The 2016 paper on a queueing network."""
