"""A cluster as a queueing network, after the 2016 paper: simulated, computed, calibrated, and asked what if."""

from cassbook.queueing.network import Demands, Law, Network, Operation, Readings
from cassbook.queueing.simulation import Simulated, run, simulate

__all__ = ["Demands", "Law", "Network", "Operation", "Readings", "Simulated", "run", "simulate"]
