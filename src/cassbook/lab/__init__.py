"""The laboratory: everything that starts a cluster or puts load on one."""
