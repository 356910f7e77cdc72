"""Find or fetch Java and Cassandra, and run a ccm cluster that leaves nothing behind."""
