"""Distance on one machine: TCP traffic between unmodified nodes, delayed on its way."""
