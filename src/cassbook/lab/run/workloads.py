"""The workloads of a block: their tables made and their statements prepared before anything is measured.

They are what the section in `profile.workloads` asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from cassandra.cluster import Session

from cassbook.lab.load.coordinators import Coordinators
from cassbook.lab.load.core_workloads import PRESETS, Workload, YcsbWorkload
from cassbook.lab.load.existing_keys import keys_of
from cassbook.lab.load.statements import Statements
from cassbook.lab.load.ycsb import Request, Usertable, create_table
from cassbook.profile import columns, syntax
from cassbook.profile.profile import Profile


class Loadable(Protocol):
    """What a table, or the tables of a user's own workload, are loaded from."""

    def prefixes(self, read_cl: str, write_cl: str) -> list[list[bytes]]:
        """First part of each statement's frame body at the given levels, by operation and statement."""

    def inserts(self) -> Iterator[Request]:
        """One INSERT a row, in order; safe to share by threads."""


class Addressed(Protocol):
    """Where the tables are: `client.Place`."""

    @property
    def addresses(self) -> list[str]:
        """Addresses of the coordinators."""

    @property
    def keyspace(self) -> str:
        """Keyspace of all tables."""

    @property
    def read(self) -> tuple[str, ...]:
        """Tables there that exist already, whose keys are sampled."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A workload, what has to be loaded before its first cell, if anything, and the tables that fills."""

    workload: Workload
    load: Loadable | None
    tables: tuple[str, ...] = ()


def prepare(
    profile: Profile,
    session: Session,
    place: Addressed,
    nearest: int,
    rng: np.random.Generator,
    usertable: Usertable | None,
    process: int = 0,
    processes: int = 1,
) -> dict[str, Ready]:
    """Make the tables of a profile's workloads and prepare their statements, so that a mistake in one shows at once.

    Presets that insert, D and E, get a copy of the usertable each: its growth is felt by none but themselves. `place`
    has the keyspace of all tables and the coordinators' addresses, `nearest` is the index of the nearest. The first of
    several client processes makes the tables. Workloads are returned by name: 'A' to 'F', or the user's. An InputError
    names the workload and the statement, and quotes the server.
    """
    part, policy, keyspace, nodes = profile.workloads, profile.load.coordinator, place.keyspace, place.addresses
    ready: dict[str, Ready] = {}
    if part is None:
        return ready
    first = process == 0
    known = keys_of(session, keyspace, place.read, rng) if place.read else {}
    for section in part.own:
        route = Coordinators(session, keyspace, nodes, policy, nearest)
        statements = Statements(session, section, keyspace, route, rng, create=first, known=known)
        load = statements if section.load else None
        ready[section.name] = Ready(statements, load, tuple(f"{keyspace}.{table}" for table in statements.tables))
    for name in part.presets:
        preset, table = PRESETS[name], usertable
        assert table is not None  # noqa: S101 - presets use it
        if preset.inserts:
            copy = f"usertable_{name.lower()}"
            if first:
                create_table(session, profile.table, None, keyspace, copy)
            table = Usertable(session, profile.table, nodes, policy, nearest, rng, keyspace, copy)
        scans = part.max_scan_length, part.scan_length_distribution
        workload = YcsbWorkload(preset, table, rng, *scans, process, processes)
        ready[name] = Ready(workload, table, (table.name,)) if preset.inserts else Ready(workload, None)
    return ready


def tables_of(profile: Profile, name: str) -> list[str]:
    """Return the tables that one of a user's own workloads creates."""
    sections = {section.name: section for section in profile.workloads.own} if profile.workloads else {}
    return list(columns.tables(map(syntax.words, sections[name].create))) if name in sections else []
