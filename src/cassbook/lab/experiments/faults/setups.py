"""The experiments on faults that the catalogue has, each of one profile or more of the folder `profiles`."""

from __future__ import annotations

from cassbook.lab.experiments.faults.trial import FaultTrial, of_names


def every() -> FaultTrial:
    """All schedules that every version can have, in random order: one record of what each fault costs."""
    parts = (kill, pause, restart, links, hints, disks, members, clock, drivers, region, random, cuts, closed, threads)
    return FaultTrial({name: profile for part in parts for name, profile in part().profiles.items()})


def kill() -> FaultTrial:
    """One node is killed and comes back; the same with a commit log that is synced at once; two are killed."""
    return of_names("faults-kill", "faults-commit-log", "faults-kill-two")


def pause() -> FaultTrial:
    """A node hangs, once for long; another flaps."""
    return of_names("faults-pause")


def restart() -> FaultTrial:
    """All nodes are restarted in turn."""
    return of_names("faults-restart")


def links() -> FaultTrial:
    """A link between two nodes is cut both ways, then one way, then slow."""
    return of_names("faults-links")


def cuts() -> FaultTrial:
    """A node is cut off: without hints, and under each way in which the driver handles what goes wrong."""
    return of_names("faults-cut-no-hints", "faults-cut-drivers")


def closed() -> FaultTrial:
    """One node is killed under clients that wait for each reply."""
    return of_names("faults-kill-closed")


def threads() -> FaultTrial:
    """Two nodes are killed, and the one that is left has threads for all requests that wait for the dead."""
    return of_names("faults-kill-two-threads")


def random() -> FaultTrial:
    """Nodes are killed and paused at random."""
    return of_names("faults-random")


def hints() -> FaultTrial:
    """A node that was down is not told, or not of everything, what it missed."""
    return of_names("faults-no-hints", "faults-hint-window")


def disks() -> FaultTrial:
    """A disk is full; the disk of the only replica that has seen some writes is lost."""
    return of_names("faults-disk", "faults-lost-disk")


def clock() -> FaultTrial:
    """A node's clock is ahead, then behind."""
    return of_names("faults-clock")


def drivers() -> FaultTrial:
    """A node is killed under each way in which the driver handles what goes wrong."""
    return of_names("faults-drivers")


def region() -> FaultTrial:
    """One of two data centres is cut off."""
    return of_names("faults-region")


def members() -> FaultTrial:
    """A node is replaced; one joins and leaves."""
    return of_names("faults-members")


def tables_before_4() -> FaultTrial:
    """A node is killed under tables that repair and speculate more or less, as versions before 4.0 name that."""
    return of_names("faults-tables-2.1")


def tables() -> FaultTrial:
    """A node is killed under tables that repair and speculate more or less."""
    return of_names("faults-tables-5.0")
