"""What every room relies on: errors, estimates, consistency levels, schemas, paths, files."""
