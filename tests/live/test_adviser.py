"""The adviser on a real cluster with a late replica: the paper's switch loses writes, the safe one does not."""

import itertools
import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from cassandra import DriverException
from cassandra.cluster import NoHostAvailable, Session

from cassbook.advisor.latency_map import LatencyMap
from cassbook.advisor.payback import Phase
from cassbook.lab.experiments.adviser import scene as scenes
from cassbook.lab.experiments.adviser.shift import ShiftExperiment
from cassbook.lab.experiments.adviser.switches import SwitchExperiment
from cassbook.records.schedule_runs import ScheduleRuns, by_switch, recorded_switches
from cassbook_advisor.adviser import Adviser, Pace
from cassbook_advisor.cassandra_register import InCassandra
from cassbook_advisor.errors import InputError
from cassbook_advisor.gates import PROBE_S, CannotServe
from cassbook_advisor.policy import Terms
from cassbook_advisor.regime import Regime
from cassbook_advisor.register import Epoch, Presence
from cassbook_advisor.window import Load
from tests.helpers import made_runs
from tests.helpers.made_staleness import probed

pytestmark = pytest.mark.live
PLAN = scenes.Plan(before_s=2.0, after_s=2.0)


@pytest.fixture(scope="module")
def cluster():
    with scenes.late_replica("2.1.20", 0.4, lambda _: None) as started:
        yield started


@pytest.fixture(scope="module")
def session(cluster):
    connected = cluster.connect()
    scenes.create(connected)
    yield connected
    connected.cluster.shutdown()


@pytest.fixture(scope="module")
def latency_map():
    return LatencyMap(made_runs.run(noise=0.0), "known")


def test_the_papers_switch_loses_acknowledged_writes(session: Session):
    """Those of a client that switched first, where writes are lowered; where reads are, see the recorded switches."""
    watched = scenes.naive(session, "1R-3W", "3R-1W", replace(PLAN, late_s=1.0))
    before = watched.reads[watched.reads["sent_s"] < 0]
    assert len(before) > 30
    assert before["consistent"].all()
    assert watched.violations > 0


def test_the_safe_switch_loses_none(session, latency_map):
    now, then = "1R-3W", "3R-1W"
    scenes.create(session)
    register = InCassandra(session, scenes.KEYSPACE, f"{now}-{then}")
    shared = {"start": now, "register": register, "pace": Pace(interval_s=0.5, lease_s=5.0), "terms": Terms(survive=0)}
    with (
        Adviser(session, scenes.KEYSPACE, [scenes.TABLE], latency_map, name="a", **shared) as writing,
        Adviser(session, scenes.KEYSPACE, [scenes.TABLE], latency_map, name="b", **shared) as reading,
    ):
        watched = scenes.safe(session, (writing, reading), then, PLAN)
        steps = [(change.at, change.epoch) for adviser in (writing, reading) for change in adviser.history]
    assert watched.switched_s > 0, steps
    assert watched.violations == 0
    after = watched.reads[watched.reads["sent_s"] > watched.switched_s]
    assert len(after) > 20


def test_the_register_is_one_object_for_all(session):
    register = InCassandra(session, scenes.KEYSPACE, "by_hand")
    first = Epoch(0, Regime.settled(3, 2, 2), (2, 2))
    with pytest.raises(InputError, match="an adviser opens it first"):
        register.look()
    register.open(first)
    register.open(Epoch(0, Regime.settled(3, 1, 3), (1, 3)))  # somebody was here already
    assert register.look().epoch == first
    presence = Presence(0, 1, Load(12.5, float("nan"), 3.0))
    assert register.beat("a", presence, 0)
    assert not register.beat("b", presence, 7)
    assert list(register.look().members) == ["a"]
    following = Epoch(1, Regime(3, 2, 3, 2), (1, 3))
    assert register.advance(following)
    assert not register.advance(following)
    assert register.look().epoch == following
    assert not register.beat("a", Presence(0, 2, presence.load), 0)
    register.leave("a", 5)
    assert list(register.look().members) == ["a"]
    register.leave("a", 1)
    assert register.look().members == {}
    with pytest.raises(InputError, match=r"register .*3 replicas, .* 5"):
        register.open(Epoch(0, Regime.settled(5, 3, 3), (3, 3)))


@pytest.mark.parametrize(
    ("keyspace", "table", "wrong"),
    [
        ("nowhere", "t", "there is no 'nowhere'"),
        ("a; b", "t", "plain lower-case"),
        ("switching", "T", "plain lower-case"),
    ],
)
def test_a_register_that_cannot_be_is_refused(session, keyspace, table, wrong):
    with pytest.raises(InputError, match=wrong):
        InCassandra(session, keyspace, "x", table)


def test_switches_are_recorded(cluster, latency_map, tmp_path):
    """Reads go wrong for 0.4 s in one direction, which a busy machine can sleep through, and for 1 s in the other."""
    experiment = SwitchExperiment(latency_map, PLAN, pairs=(("3R-1W", "1R-3W"), ("1R-3W", "3R-1W")))
    switches = by_switch(recorded_switches(str(probed(tmp_path, "adviser-switches", experiment, cluster))))
    naive, safe = switches.loc["naive"], switches.loc["safe"]
    assert len(naive) == len(safe) == 2
    assert naive["violations"].sum() > 0
    worst_ms = naive["worst_ms"]
    assert worst_ms.max() > 0
    assert not worst_ms["3R-1W"].gt(2000).any()
    assert not worst_ms["1R-3W"].gt(4000).any()
    assert (safe["violations"] == 0).all()
    assert (safe["switched_s"] > 0).all()


def test_a_shifting_load_is_recorded_under_every_actor(cluster, latency_map, tmp_path):
    schedule, actors = (Phase(2, 20, 0.9), Phase(2, 20, 0.1)), ("adaptive", "naive", "2R-2W")
    experiment = ShiftExperiment(latency_map, Terms(dwell_s=1.0, survive=0), 60, schedule, actors, (Phase(1, 10, 0.5),))
    runs = ScheduleRuns(probed(tmp_path, "adviser-shift", experiment, cluster))
    assert len(runs.phases) == 9
    assert (runs.phases["n"] > 0).all()  # a busy machine answers each of twenty threads once
    assert runs.phases["errors"].sum() == 0
    assert set(runs.watch["actor"]) == set(actors)
    assert (runs.watch["reads"] > 10).all()
    assert runs.watch.set_index("actor")["violations"].drop("naive").sum() == 0
    whole = runs.phases.query("actor == '2R-2W' and phase == 0")
    assert runs.seconds(1)["2R-2W"]["n"].sum() == whole["n"].item()
    assert runs.levels(1)["2R-2W"][["reads", "writes"]].to_numpy().tolist() == [[2, 2]]
    assert not runs.sweeps["loaded"].iloc[0]
    assert runs.figures("mean_us").loc["2R-2W", "estimate"].value > 0


class Service:
    """Threads that read and write by turns, and what became of each request: from when to when, operation, error."""

    THREADS, PAUSE_S = 8, 0.02

    def __init__(self, adviser):
        self._adviser, self._stop, self.ended = adviser, threading.Event(), []
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(self.THREADS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number):
        table = f"{scenes.KEYSPACE}.{scenes.TABLE}"
        turns = itertools.cycle([("reads", f"SELECT * FROM {table} WHERE key = {number}"),
                                 ("writes", f"UPDATE {table} SET sequence = 1 WHERE key = {number}")])  # fmt: skip
        while not self._stop.wait(self.PAUSE_S):
            operation, statement = next(turns)
            began, error = time.monotonic(), None
            try:
                self._adviser.execute(statement)
            except (DriverException, NoHostAvailable) as failed:
                error = failed
            self.ended.append((began, time.monotonic(), operation, error))

    def between(self, from_s, to_s, operation):
        """How long requests of an operation took that ended in this time, and their errors."""
        return [(at - began, error) for began, at, of, error in self.ended if of == operation and from_s <= at < to_s]


def answered(requests):
    return sum(error is None for _, error in requests)


def wait_until(reached, seconds):
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_reads_that_no_live_replica_can_serve_fail_at_once_and_writes_keep_their_rate(cluster, session, latency_map):
    node, watched_s, events = 2, 6.0, []
    with (
        Adviser(
            session, scenes.KEYSPACE, [scenes.TABLE], latency_map, "3R-1W", terms=Terms(survive=0),
            on_event=events.append,
        ) as adviser,
        Service(adviser) as service,
    ):  # fmt: skip
        time.sleep(4)
        killed_s = time.monotonic()
        cluster.node_process(node).kill()
        wait_until(lambda: adviser.status().cannot_serve, 20)
        (unserved,) = adviser.status().cannot_serve
        assert (unserved.operation, unserved.why[:27]) == ("reads", "2 of 3 replicas are alive, ")
        time.sleep(6)  # reads that were under way wait for their time-out
        since_s = time.monotonic()
        time.sleep(watched_s)
        before_per_s = len(service.between(killed_s - 3, killed_s, "writes")) / 3
        reads, writes = (service.between(since_s, since_s + watched_s, of) for of in ("reads", "writes"))
        assert not [error for _, error in reads if error is None]
        probes = [one for one in reads if one[0] > PROBE_S / 2 or not isinstance(one[1], CannotServe)]
        assert 1 <= len(probes) <= watched_s / PROBE_S + 2
        assert len(reads) > 4 * len(probes), "all others failed at once"
        assert answered(writes) / watched_s > before_per_s / 2, before_per_s
        assert adviser.status().cannot_serve == (unserved,)
        cluster.launch_node(node, False)
        wait_until(lambda: not adviser.status().cannot_serve, 120)
        recovered_s = time.monotonic()
        time.sleep(3)
        reads = service.between(recovered_s + 1, time.monotonic(), "reads")
        assert answered(reads) > len(reads) / 2 > 10
    cluster.wait_until_whole()
    said = [event.reason for event in events if event.kind == "unserved"]
    assert said[0].startswith("reads cannot be served: 2 of 3 replicas are alive, too few for reads in 3R-1W")
    assert said[1].startswith("reads are served again, after ")


def test_with_a_node_down_nothing_is_switched_for_speed(cluster, session, latency_map):
    """The last test here: its cluster is a node short afterwards."""
    terms = Terms(dwell_s=0.0, fewest_per_s=0.0, survive=0)
    with Adviser(session, scenes.KEYSPACE, [scenes.TABLE], latency_map, start="3R-1W", terms=terms) as adviser:
        assert adviser.status().missing_nodes == ()
        cluster.node_process(2).kill()
        deadline = time.monotonic() + 60
        while adviser.status().missing_nodes != ("127.0.0.2",) and time.monotonic() < deadline:
            with suppress(DriverException, NoHostAvailable):  # a driver that asks nothing is told by gossip, in 20 s
                adviser.execute("SELECT key FROM switching.register_rows LIMIT 1", timeout=2)
        while "not up: 127.0.0.2" not in adviser.status().reason and time.monotonic() < deadline:
            adviser.window.add(True, 0.1)
            time.sleep(0.01)
        status = adviser.status()
        assert status.missing_nodes == ("127.0.0.2",)
        assert "nothing is switched for speed" in status.reason
        assert status.setting == "3R-1W"
