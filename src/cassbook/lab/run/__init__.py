"""From a profile to a run folder: plan the cells, measure them, store them."""
