"""The experiment of a profile of faults: its schedule under its load, on one cluster after the other."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args

from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.schema import OK, OUTCOMES
from cassbook.core.threads import meanwhile
from cassbook.deployment.distances import Distances, Placement
from cassbook.deployment.notation import parse
from cassbook.lab.engine.cluster import CassandraCluster, Spec
from cassbook.lab.engine.connect import define, quiet_driver
from cassbook.lab.engine.spec import Breakable
from cassbook.lab.experiments.experiment import AnySetup, Experiment, Row, Setup, SideBySide
from cassbook.lab.experiments.faults import drivers
from cassbook.lab.experiments.faults.detection import NOTICES, Notices
from cassbook.lab.experiments.faults.injection import STRUCK, Injector
from cassbook.lab.experiments.faults.load import FaultLoad, Sender, Variant
from cassbook.lab.load.ycsb import create_keyspace
from cassbook.latency import under_faults
from cassbook.profile.fault_schedule import Order
from cassbook.profile.faults import FaultsSection
from cassbook.profile.profile import Profile, load_profile
from cassbook.staleness import checker

_ATTEMPTS = 10
_AT_ONCE = 50
_CHECK_S = 0.1
#: So many stale reads, reads that go back and lost writes of each variant are kept operation by operation.
_STORIES_KEPT = 2
#: One row per operation of such a story: which kind (stale, back, lost), its number, and `checker.timeline`;
#: coordinator is a node's number, 0 where none is known.
STORY = ("kind", "story", "operation", "version", "sent_s", "ended_s", "coordinator")
OPERATIONS = ("READ", "UPDATE")
#: Schedules of `faults-all`; their order is part of a record's random order.
EVERY = tuple(
    f"faults-{name}"
    for name in (
        "kill", "commit-log", "kill-two", "pause", "restart", "links", "no-hints", "hint-window", "disk", "lost-disk",
        "members", "clock", "drivers", "region", "random", "cut-no-hints", "cut-drivers", "kill-closed",
        "kill-two-threads",
    )
)  # fmt: skip
Senders = Callable[[Session], AbstractContextManager[Mapping[int, tuple[Sender, Sender]]]]


@dataclass(frozen=True)
class FaultExperiment(Experiment):
    """Schedules of faults, those of profiles by name, each on a cluster of its own: with a relay where links fail."""

    BY_SETUP = ("profiles",)

    setups: Mapping[str, AnySetup] = field(init=False)
    profiles: Mapping[str, Profile]

    def __post_init__(self) -> None:
        for name, profile in self.profiles.items():
            if profile.faults is None:
                raise InputError(f"profile: {name} holds no faults; give them under `faults`, as in faults-kill")
        object.__setattr__(self, "setups", {name: _setup(profile) for name, profile in self.profiles.items()})

    def notes(self) -> dict[str, Any]:
        """Return the profiles, whose engine is not the record's."""
        return {
            "profiles": {name: one.model_dump(mode="json", exclude={"engine"}) for name, one in self.profiles.items()}
        }

    def rows(self) -> int:
        """Return how many rows a cluster start gives."""
        return len(OPERATIONS) * sum(len(variants(profile)) for profile in self.profiles.values())

    def measure(self, cluster: CassandraCluster, rng: np.random.Generator) -> Iterator[Row]:
        """Let the schedule strike, heal the cluster, and judge the whole history.

        One row per variant and operation: panel, setting, driver, table, operation, n, errors (by kind), stale and back
        (reads), lost (acknowledged writes), held_up (of the whole load); tables bins (`under_faults.over_time`) and
        told (`STORY`), and with the first row struck (`injection.STRUCK`) and notices (`detection.NOTICES`).
        """
        (profile,) = self.profiles.values()
        yield from rows(profile, measured(profile, cluster, rng))


def rows(profile: Profile, seen: Seen) -> Iterator[Row]:
    """Return what is kept of a schedule: see `FaultExperiment.measure`."""
    struck = pd.DataFrame(seen.struck, columns=list(STRUCK))
    for panel, ((number, variant), operation) in enumerate(product(enumerate(variants(profile)), OPERATIONS), 1):
        own = seen.requests[(seen.requests["variant"] == number) & (seen.requests["operation"] == operation)]
        errors = Counter(OUTCOMES[outcome] for outcome in own["outcome"] if outcome != OK)
        stories = seen.stories[(seen.stories["variant"] == number) & (seen.stories["of"] == operation)]
        yield {
            "panel": panel, "setting": variant.setting.name, "driver": variant.driver, "table": variant.table,
            "operation": operation, "n": len(own),
            "errors": ";".join(f"{kind}:{count}" for kind, count in sorted(errors.items())),
            "stale": int(own["stale"].sum()), "back": int(own["back"].sum()), "lost": int(own["lost"].sum()),
            "held_up": seen.held_up,
            "bins": under_faults.over_time(own), "told": stories[list(STORY)],
            "struck": struck if panel == 1 else struck.head(0),
            "notices": seen.notices if panel == 1 else seen.notices.head(0),
        }  # fmt: skip


def of_profiles(profile: Sequence[Profile]) -> FaultExperiment:
    """Return the experiment of anybody's profiles; the name is that of the option, which may be given several times."""
    named = {one.name: one for one in profile}
    if len(named) < len(profile):
        raise InputError(f"profile: two of {', '.join(one.name for one in profile)} have one name; rename one")
    return FaultExperiment(named)


def of_names(*names: str) -> FaultExperiment:
    """Return the experiment of profiles that come with cassbook."""
    return FaultExperiment({name: load_profile(name) for name in names})


def every() -> FaultExperiment:
    """Return all schedules that every version can have: one record of what each fault costs."""
    return of_names(*EVERY)


def tables_before_4() -> FaultExperiment:
    """Return the schedule on tables with options as versions before 4.0 name them."""
    return of_names("faults-tables-2.1")


def tables() -> FaultExperiment:
    """Return the schedule on tables with options as versions since 4.0 name them."""
    return of_names("faults-tables-5.0")


def _setup(profile: Profile) -> AnySetup:
    part = profile.cluster
    faults, _ = _faults(profile)
    spare = len(faults.struck("add"))
    breakable = Breakable(faults.struck("clock"), faults.struck("fill"))
    if profile.distance is not None:
        placements = profile.distance.placements()
        if len(placements) > 1:
            raise InputError(f"profile: {profile.name} has several deployments; faults strike one")
        (placement,) = placements.values()
    elif faults.of_links:
        hosts = parse(f"{{[C, (R1..R{part.nodes})]}}")
        placement = Placement(hosts, ("datacenter1",), Distances("side by side", {}))
    else:
        return SideBySide(
            Spec(part.nodes, part.replication_factor, part.heap_mb, part.options, spare=spare, breakable=breakable)
        )
    if spare or breakable != Breakable():
        raise InputError(
            f"profile: {profile.name}: nodes can be added, clocks set and disks filled only where no link fails and no "
            "host is apart"
        )
    replicas = part.replication_factor if part.replication_factor < part.nodes else None
    return Setup(placement, part.options, part.heap_mb, replicas)


def _faults(profile: Profile) -> tuple[FaultsSection, float]:
    """The faults of a profile, and for how long its load lasts."""
    assert profile.faults is not None  # noqa: S101 - an experiment on faults has no others
    assert profile.load.steady_s is not None  # noqa: S101 - checked by the profile
    return profile.faults, profile.load.steady_s


def _orders(profile: Profile, rng: np.random.Generator) -> list[Order]:
    part, seconds = _faults(profile)
    return part.orders(seconds, profile.cluster.nodes, rng)


def variants(profile: Profile) -> list[Variant]:
    """Return the variants of a profile: each setting with each driver on each table."""
    part, _ = _faults(profile)
    return [
        Variant(profile.setting(setting), driver, table)
        for setting, driver, table in product(part.settings, part.drivers, part.tables)
    ]


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a schedule; `held_up` and `begun_s` as of `FaultLoad`."""

    #: Those that were due in it: `load.REQUESTS`, and stale, back and lost.
    requests: pd.DataFrame
    #: `injection.STRUCK`.
    struck: list[tuple[Any, ...]]
    #: `detection.NOTICES`.
    notices: pd.DataFrame
    #: `STORY`, and variant and of (the operation).
    stories: pd.DataFrame
    held_up: int
    begun_s: float


@contextmanager
def nobody(session: Session) -> Iterator[Mapping[int, tuple[Sender, Sender]]]:
    """All requests go at the levels of their settings."""
    yield {}


def measured(
    profile: Profile, cluster: CassandraCluster, rng: np.random.Generator, senders: Senders = nobody,
    beside: Callable[[float, threading.Event], None] | None = None,
) -> Seen:  # fmt: skip
    """Let a schedule strike under its load, heal the cluster, and judge the whole history.

    `senders`, given the session, is a context manager of who sends which variant's requests (see `FaultLoad`): entered
    when the tables are there, left when the load has ended. `beside` is what else goes on under the load, given the
    moment at which the schedule begins, and an event that is set when it is over. Raise LaboratoryError if a fault
    cannot be carried out, the load cannot go on, or the cluster does not become whole again.
    """
    part, seconds = _faults(profile)
    injector = Injector(cluster, _orders(profile, rng))
    driver = drivers.connected(cluster, profile.load.request_timeout_s)
    try:
        session = driver.connect(wait_for_all_pools=True)
        _create(session, cluster, part)
        notices = Notices(cluster, driver)
        with quiet_driver(), senders(session) as sending:  # it would print every connection that it loses
            load = FaultLoad(
                session, cluster.keyspace, variants(profile), part.keys, part.read_share, rng, part.before_s, sending,
                rate_per_s=part.rate_per_s, threads=part.threads,
            )  # fmt: skip
            first = load.fill()
            with load, ExitStack() as stack:
                stack.enter_context(
                    meanwhile(lambda over: injector.run(load.begun_s, over), "a fault could not be carried out")
                )
                if beside is not None:
                    stack.enter_context(
                        meanwhile(lambda over: beside(load.begun_s, over), "what goes on beside failed")
                    )
                while time.perf_counter() < load.begun_s + seconds:
                    load.check()
                    time.sleep(_CHECK_S)
        load.check()
        noticed = notices.since(load.begun_s)
    finally:
        driver.shutdown()
    injector.heal()
    last = _last(cluster, load, part.tables, variants(profile))
    first = first.assign(sent_s=first["sent_s"] - load.begun_s, acked_s=first["acked_s"] - load.begun_s)
    requests = load.requests().assign(coordinator=lambda table: _numbers(table["coordinator"], cluster.addresses))
    judged, stories = _judged(requests, first, last)
    during = judged[judged["due_s"] >= 0].reset_index(drop=True)
    return Seen(during, injector.rows(), noticed[list(NOTICES)], stories, load.held_up, load.begun_s)


def _create(session: Session, cluster: CassandraCluster, part: FaultsSection) -> None:
    session.use_client_timestamp = part.timestamps == "client"
    create_keyspace(session, cluster.keyspace, cluster.replication)
    for name, options in part.tables.items():
        wanted = "".join(f" AND {key} = {value!r}" for key, value in options.items())
        define(
            session,
            f"CREATE TABLE {cluster.keyspace}.{name} (id text PRIMARY KEY, version bigint, filler text) "
            f"WITH comment = 'faults'{wanted}",
        )


def _numbers(addresses: pd.Series, nodes: list[str]) -> pd.Series:
    """Numbers of nodes, from 1, by their addresses; 0 for none."""
    return addresses.map({address: number for number, address in enumerate(nodes, 1)}).fillna(0).astype(int)


def _last(
    cluster: CassandraCluster, load: FaultLoad, tables: Mapping[str, Any], variants: list[Variant]
) -> pd.DataFrame:
    """Read every row at ALL, through a session that has seen no fault: columns key and version."""
    session = cluster.connect()
    try:
        found: dict[str, int] = {}
        for name in tables:
            statement = session.prepare(f"SELECT version FROM {cluster.keyspace}.{name} WHERE id = ?")
            statement.consistency_level = ConsistencyLevel.ALL
            keys = [
                key for variant, own in zip(variants, load.all_keys(), strict=True)
                if variant.table == name for key in own
            ]  # fmt: skip
            found |= _read(session, statement, keys)
    finally:
        session.cluster.shutdown()
    return pd.DataFrame(list(found.items()), columns=["key", "version"])


def _read(session: Session, statement: Any, keys: list[str]) -> dict[str, int]:
    left, found = keys, {}
    for _ in range(_ATTEMPTS):
        results = execute_concurrent_with_args(
            session, statement, [(key,) for key in left], concurrency=_AT_ONCE, raise_on_first_error=False
        )
        for key, (done, result) in zip(left, results, strict=True):
            if done:
                row = result.one()
                found[key] = int(row.version) if row and row.version else 0
            else:
                error = result
        left = [key for key in left if key not in found]
        if not left:
            return found
        time.sleep(1.0)
    raise LaboratoryError(f"{len(left)} of {len(keys)} rows cannot be read at ALL after the faults: {error}")


def _judged(
    requests: pd.DataFrame, first: pd.DataFrame, last: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Judge a history: the requests with stale, back and lost; and stories of some (`STORY`, variant, of)."""
    good = requests["outcome"] == OK
    update = requests["operation"] == "UPDATE"
    acked_s = requests["ended_s"].where(good)
    columns = ["key", "version", "sent_s", "coordinator", "variant"]
    first = first.set_index(-1 - np.arange(len(first)))  # they are no requests of the load
    writes = pd.concat([first, requests[update].assign(acked_s=acked_s)[[*columns, "acked_s"]]])
    reads = requests[good & ~update].rename(columns={"ended_s": "returned_s"})[[*columns, "returned_s"]]
    verdicts = checker.went_back(checker.judge(writes, reads))
    gone = checker.lost(writes, last)
    flags = {
        "stale": ~verdicts["consistent"].astype(bool), "back": verdicts["back"],
        "lost": pd.Series(True, index=gone.index),
    }  # fmt: skip
    judged = requests.assign(
        **{name: flag.reindex(requests.index, fill_value=False).astype(bool) for name, flag in flags.items()}
    )
    return judged, _stories(judged, writes, reads, last)


def _stories(judged: pd.DataFrame, writes: pd.DataFrame, reads: pd.DataFrame, last: pd.DataFrame) -> pd.DataFrame:
    stories = []
    for kind, of in (("stale", "READ"), ("back", "READ"), ("lost", "UPDATE")):
        chosen = judged[judged[kind]].groupby("variant").head(_STORIES_KEPT)
        for story, place in enumerate(chosen.index, 1):
            request = chosen.loc[place]
            read = reads.loc[place] if of == "READ" else _end(reads, last, request)
            operations = checker.timeline(writes, reads, read)
            stories.append(operations.assign(kind=kind, story=story, variant=request["variant"], of=of))
    if not stories:
        return pd.DataFrame(columns=[*STORY, "variant", "of"])
    return pd.concat(stories, ignore_index=True).astype({"coordinator": int})


def _end(reads: pd.DataFrame, last: pd.DataFrame, request: pd.Series) -> pd.Series:
    """The read at the end that shows a write to be lost, as a row of `reads`."""
    version = last.set_index("key").loc[request["key"], "version"]
    at_s = float(reads["returned_s"].max())
    return pd.Series(
        {"key": request["key"], "version": version, "sent_s": at_s, "returned_s": at_s, "coordinator": 0,
         "variant": request["variant"]}
    )  # fmt: skip
