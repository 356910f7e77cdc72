"""Settings are switched while nodes fail at random: the adviser's promise under faults, and the naive switch's.

One load asks three tables in turn. The requests of one go through two advisers that share a register, those of another
through two naive switches, those of the third at one setting. All that switch are asked for the same settings at the
same random moments. A third member of the register, a process of its own that sends no requests, is killed again and
again, at times in the middle of a switch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from cassandra import DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook.advisor.latency_map import LatencyMap
from cassbook.core.consistency import STRONG_SETTINGS
from cassbook.core.schema import OK
from cassbook.core.threads import meanwhile
from cassbook.lab.engine.cluster import CassandraCluster
from cassbook.lab.engine.connect import connect
from cassbook.lab.experiments.adviser.actors import Switch
from cassbook.lab.experiments.experiment import AnySetup, Experiment, Row
from cassbook.lab.experiments.faults.experiment import FaultExperiment, measured, rows, variants
from cassbook.lab.experiments.faults.load import Sender
from cassbook.profile.profile import Profile, load_profile
from cassbook.records.faults import KILLED
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.cassandra_register import InCassandra
from cassbook_advisor.policy import Terms
from cassbook_advisor.status import Event

#: Tables of the profile.
SAFE, NAIVE = "safe", "naive"
#: What members did: moment since the schedule began, `Event.kind` or `KILLED`, the setting in force and the one wanted,
#: why.
STEPS = ("at_s", "member", "kind", "setting", "wanted", "reason")
#: When requests of a table were answered with an error: the first such reply of each half second.
REPLIES = ("table", "operation", "ended_s")
_START = "2R-2W"
_SWITCH_EVERY_S, _MEMBER_LIVES_S = 12.0, 30.0
#: By how much the reading client learns of a naive switch later.
_LATE_S = 0.5
_TERMS = Terms(dwell_s=5.0, fewest_per_s=float("inf"), survive=0)  # no load is enough to switch for speed
_PACE = Pace(interval_s=0.5, lease_s=5.0)
_REGISTER = "faults"


def failures(map: LatencyMap) -> FailingExperiment:
    """Switch while nodes fail, with hints and without, and while the register has lost its majority.

    Advisers need a map, whichever it is.
    """
    names = ("faults-advised", "faults-register", "faults-advised-no-hints")
    return FailingExperiment(map, {name: load_profile(name) for name in names})


@dataclass(frozen=True)
class FailingExperiment(Experiment):
    """Schedules of faults under which settings are switched."""

    BY_SETUP = ("profiles",)

    setups: Mapping[str, AnySetup] = field(init=False)
    latency_map: LatencyMap  # any; advisers need one
    profiles: Mapping[str, Profile]  # by name; their faults have the tables `SAFE` and `NAIVE`, and perhaps others

    def __post_init__(self) -> None:
        object.__setattr__(self, "setups", self._faults.setups)

    @property
    def _faults(self) -> FaultExperiment:
        return FaultExperiment(self.profiles)

    def notes(self) -> dict[str, Any]:
        """Return the profiles, the map's name, and how often what is done."""
        return self._faults.notes() | {
            "map": self.latency_map.name, "switch_every_s": _SWITCH_EVERY_S, "member_lives_s": _MEMBER_LIVES_S,
            "late_client_s": _LATE_S, "interval_s": _PACE.interval_s, "lease_s": _PACE.lease_s,
            "dwell_s": _TERMS.dwell_s,
        }  # fmt: skip

    def rows(self) -> int:
        """Return how many rows a cluster start gives."""
        return self._faults.rows()

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """As `FaultExperiment.measure`; with the first row also tables steps (`STEPS`) and replies (`REPLIES`)."""
        (profile,) = self.profiles.values()
        acting = _Acting(self.latency_map, profile, cluster, np.random.default_rng(rng.integers(2**32)))
        seen = measured(profile, cluster, rng, acting.senders, acting.switch)
        beside = {"steps": acting.steps(seen.begun_s), "replies": _failed_replies(profile, seen.requests)}
        for place, row in enumerate(rows(profile, seen)):
            yield row | {name: table if place == 0 else table.head(0) for name, table in beside.items()}


@dataclass(slots=True)
class _Acting:
    """The clients that switch, and the one that dies."""

    latency_map: LatencyMap
    profile: Profile
    cluster: CassandraCluster
    rng: np.random.Generator
    _advisers: list[Adviser] = field(default_factory=list)
    _naive: list[Switch] = field(default_factory=list)
    _events: list[tuple[str, Event]] = field(default_factory=list)

    @contextmanager
    def senders(self, session: Session) -> Iterator[Mapping[int, tuple[Sender, Sender]]]:
        """Who sends the reads and the writes of each table that is switched."""
        self._naive = [Switch(session, _START), Switch(session, _START)]
        register = InCassandra(session, self.cluster.keyspace, _REGISTER)
        where = (session, self.cluster.keyspace, self.latency_map, register)
        with (
            _adviser("a", *where, self._noting("a")) as writing,
            _adviser("b", *where, self._noting("b")) as reading,
        ):
            self._advisers = [reading, writing]
            by_table: dict[str, tuple[Sender, Sender]] = {
                SAFE: (reading, writing), NAIVE: (self._naive[0], self._naive[1])
            }  # fmt: skip
            yield {
                number: by_table[variant.table]
                for number, variant in enumerate(variants(self.profile)) if variant.table in by_table
            }  # fmt: skip

    def _noting(self, name: str) -> Callable[[Event], None]:
        return lambda event: self._events.append((name, event))

    def switch(self, begun_s: float, over: threading.Event) -> None:
        """Ask for settings at random moments, and let a further member live and die, until it is over."""
        names = [pair.name for pair in STRONG_SETTINGS]
        with meanwhile(self._mortal, "the member that is killed again and again could not live"):
            while not over.wait(float(self.rng.exponential(_SWITCH_EVERY_S))):
                name = names[int(self.rng.integers(len(names)))]
                for adviser in self._advisers:
                    adviser.request_setting(name)
                reading, writing = self._naive
                writing.request_setting(name)
                over.wait(_LATE_S)
                reading.request_setting(name)

    def _mortal(self, over: threading.Event) -> None:
        """Keep one more member of the register alive for a while, kill it, and begin again."""
        count = 0
        rng = np.random.default_rng(self.rng.integers(2**32))
        while not over.is_set():
            count += 1
            where = (self.cluster.addresses, self.cluster.release.protocol, self.cluster.keyspace)
            process = get_context("spawn").Process(
                target=_live, args=(f"c{count}", *where, self.latency_map), daemon=True
            )
            process.start()
            over.wait(float(rng.uniform(0.5, 1.5)) * _MEMBER_LIVES_S)
            process.kill()
            process.join()
            self._events.append((f"c{count}", Event(time.monotonic(), KILLED, "", "", 0, "")))

    def steps(self, begun_s: float) -> pd.DataFrame:
        """Return what the advisers did, since the schedule began (on `time.perf_counter`)."""
        shift_s = time.perf_counter() - time.monotonic() - begun_s
        noted = [
            (round(event.at + shift_s, 3), name, event.kind, event.setting, event.wanted, event.reason)
            for name, event in self._events
        ]
        return pd.DataFrame(noted, columns=list(STEPS))


def _failed_replies(profile: Profile, requests: pd.DataFrame) -> pd.DataFrame:
    tables = [variant.table for variant in variants(profile)]
    failed = requests[requests["outcome"] != OK]
    replies = failed.assign(table=failed["variant"].map(dict(enumerate(tables))), half=np.floor(failed["ended_s"] * 2))
    return replies.groupby(["table", "operation", "half"])["ended_s"].min().reset_index()[list(REPLIES)]


def _adviser(
    name: str, session: Session, keyspace: str, latency_map: LatencyMap, register: InCassandra,
    on_event: Callable[[Event], None] | None = None,
) -> Adviser:  # fmt: skip
    return Adviser(
        session, keyspace, [SAFE], latency_map, _START, register, _TERMS, name=name, pace=_PACE, on_event=on_event,
        fail_fast=False,  # every request is sent, as those of the two other tables are: shares not answered compare
    )  # fmt: skip


def _live(name: str, addresses: list[str], protocol: int, keyspace: str, latency_map: LatencyMap) -> None:
    """Be an adviser that sends no requests, until killed."""
    session = connect(addresses, protocol, least=1)
    register = InCassandra(session, keyspace, _REGISTER)
    while True:
        with (
            suppress(DriverException, NoHostAvailable),  # it cannot join at the moment
            _adviser(name, session, keyspace, latency_map, register),
        ):
            threading.Event().wait()
