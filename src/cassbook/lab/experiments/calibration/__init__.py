"""What requests cost on a live cluster: the cells that calibrate the queueing network."""
