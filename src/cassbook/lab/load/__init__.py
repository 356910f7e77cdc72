"""The load generator: YCSB's table and requests, a closed loop on a light path, samples that reach the disk."""
