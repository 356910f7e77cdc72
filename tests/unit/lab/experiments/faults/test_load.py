"""The load of the faults through a driver that answers when the test says so."""

import itertools
import threading
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from cassandra import OperationTimedOut, ReadTimeout, Unavailable, WriteTimeout
from cassandra.cluster import NoHostAvailable

from cassbook.core.consistency import setting
from cassbook.core.errors import LaboratoryError
from cassbook.core.schema import OUTCOMES
from cassbook.lab.experiments.faults.load import REQUESTS, FaultLoad, Variant, outcome_of
from cassbook.staleness.checker import judge
from cassbook_advisor.requests import OutcomeUnknown
from tests.helpers.waiting import wait_until

VARIANTS = [
    Variant(setting(name), driver, "default") for name, driver in (("ONE/ONE", "default"), ("2R-2W", "next_host"))
]


class Future:
    """What `execute_async` returns; settled at once, or by another thread."""

    coordinator_host = SimpleNamespace(address="127.0.0.2")

    def __init__(self, answer):
        self.answer = answer

    def result(self):
        return self.answer

    def add_callbacks(self, callback, errback, callback_args, errback_args):
        if isinstance(self.answer, Exception):
            errback(self.answer, *errback_args)
        elif self.answer is not None:
            callback(self.answer, *callback_args)


class Store:
    """A driver's session over one copy of the rows. `fails` says of each request whether it does, and how."""

    def __init__(self, fails=lambda query, count: None, holds=False):
        self.rows, self.fails, self.holds = {}, fails, holds
        self.count = itertools.count()
        self.statements, self.levels = [], []

    def prepare(self, query):
        statement = SimpleNamespace(query=query, consistency_level=None, is_idempotent=False)
        statement.bind = lambda values: SimpleNamespace(statement=statement, values=values)
        self.statements.append(statement)
        return statement

    def get_execution_profile(self, name):
        return SimpleNamespace(request_timeout=0.05)

    def execute_async(self, bound, execution_profile):
        query = bound.statement.query
        self.levels.append((query.split()[0], bound.statement.consistency_level, execution_profile))
        failure = self.fails(query, next(self.count))
        if isinstance(failure, NoHostAvailable):
            raise failure
        if failure is not None or self.holds:
            return Future(failure)
        if query.startswith("UPDATE"):
            version, _, key = bound.values
            self.rows[key] = version
            return Future([])
        return Future([(self.rows[bound.values[0]],)] if bound.values[0] in self.rows else [])


def ran(store, seconds=0.3, rate_per_s=2000.0, keys=20, variants=VARIANTS, threads=None):
    load = FaultLoad(
        store,
        "ks",
        variants,
        keys,
        0.5,
        np.random.default_rng(1),
        before_s=0.05,
        rate_per_s=rate_per_s,
        threads=threads,
    )
    with load:
        time.sleep(seconds)
    return load


def test_variants_take_turns_and_each_has_rows_levels_and_a_driver_of_its_own():
    store = Store()
    requests = ran(store).requests()
    assert tuple(requests.columns) == REQUESTS
    counts = requests["variant"].value_counts()
    assert abs(counts[0] - counts[1]) <= 1
    assert not set(requests.loc[requests["variant"] == 0, "key"]) & set(requests.loc[requests["variant"] == 1, "key"])
    assert set(store.levels) == {
        ("SELECT", 1, "default"), ("UPDATE", 1, "default"), ("SELECT", 4, "next_host"), ("UPDATE", 4, "next_host"),
    }  # fmt: skip
    assert [statement.is_idempotent for statement in store.statements] == [False, False, True, True]


def test_of_two_answers_to_one_request_the_first_counts(monkeypatch):
    """As the driver gives them where a speculative execution is answered too."""
    once = Future.add_callbacks

    def twice(self, *arguments, **options):
        once(self, *arguments, **options)
        once(self, *arguments, **options)

    monkeypatch.setattr(Future, "add_callbacks", twice)
    load = ran(Store())
    load.check()
    requests = load.requests()
    assert not requests.duplicated(["due_s"]).any()


def test_requests_are_due_at_an_even_pace_from_before_the_time_begins():
    requests = ran(Store(), rate_per_s=500.0).requests().sort_values("due_s")
    assert requests["due_s"].iloc[0] == pytest.approx(-0.05)
    assert np.diff(requests["due_s"]) == pytest.approx(0.002)
    assert (requests["sent_s"] >= requests["due_s"]).all()


def test_in_a_closed_load_each_thread_of_a_variant_has_one_request_under_way():
    store = Store(holds=True)
    load = FaultLoad(store, "ks", VARIANTS, 10, 0.5, np.random.default_rng(1), threads=3)
    with load:
        time.sleep(0.1)
    assert len(store.levels) == 3 * len(VARIANTS)


def test_a_closed_load_sends_the_next_request_when_one_is_settled_however_it_ended():
    errors = itertools.cycle([None, Unavailable("x"), NoHostAvailable("x", {})])
    load = ran(Store(lambda query, count: next(errors)), seconds=0.1, rate_per_s=None, threads=2)
    load.check()
    requests = load.requests()
    assert len(requests) > 100
    assert (requests["sent_s"] - requests["due_s"]).max() < 0.05
    counts = requests["variant"].value_counts()
    assert counts.min() > 0.8 * counts.max()
    assert load.held_up == 0


def test_a_history_through_one_copy_of_each_row_is_consistent():
    requests = ran(Store()).requests()
    update = requests["operation"] == "UPDATE"
    writes = requests[update].rename(columns={"ended_s": "acked_s"})
    assert (
        writes.groupby("key")["version"]
        .apply(lambda versions: list(versions) == list(range(1, len(versions) + 1)))
        .all()
    )
    reads = requests[~update].rename(columns={"ended_s": "returned_s"})
    assert judge(writes, reads)["consistent"].all()
    assert requests.loc[update, "coordinator"].eq("127.0.0.2").all()


def test_errors_are_outcomes_and_the_load_goes_on():
    errors = itertools.cycle(
        [
            None,
            Unavailable("x"),
            ReadTimeout("x"),
            WriteTimeout("x", write_type=0),
            OperationTimedOut(),
            NoHostAvailable("x", {}),
            ValueError(),
        ]
    )
    requests = ran(Store(lambda query, count: next(errors))).requests()
    kinds = Counter(OUTCOMES[outcome] for outcome in requests["outcome"])
    assert set(kinds) == {
        "ok", "unavailable", "read_timeout", "write_timeout", "client_timeout", "connection_lost", "server_error",
    }  # fmt: skip
    assert max(kinds.values()) - min(kinds.values()) <= 1


def test_no_row_has_two_writes_under_way():
    """Nothing is ever answered: each row is written once, and further writes are held up."""
    store = Store(holds=True)
    load = FaultLoad(store, "ks", VARIANTS[:1], 10, 0.5, np.random.default_rng(1), rate_per_s=1000.0)
    with load:
        wait_until(lambda: load.held_up > 10)
    assert sum(word == "UPDATE" for word, *_ in store.levels) == 10
    with pytest.raises(LaboratoryError, match="the driver never settled"):
        load.check()


def test_a_load_that_cannot_go_on_says_so(monkeypatch):
    tried = threading.Event()

    def fail(*_):
        tried.set()
        raise ZeroDivisionError("division by zero")

    load = FaultLoad(Store(), "ks", VARIANTS, 10, 0.5, np.random.default_rng(1), rate_per_s=1000.0)
    monkeypatch.setattr(load, "_send", fail)
    with load:
        assert tried.wait(60)
    with pytest.raises(LaboratoryError, match="cannot go on: division by zero"):
        load.check()
    assert threading.active_count() < 20


def test_an_error_that_nobody_knows_is_the_servers():
    assert OUTCOMES[outcome_of(KeyError("x"))] == "server_error"


class Doubting:
    """An adviser that believes no acknowledgement of a write."""

    def __init__(self, store):
        self.store = store

    def execute_async(self, statement, parameters=None, **options):
        future = self.store.execute_async(statement.bind(parameters), **options)

        def result():
            raise OutcomeUnknown("late")

        return SimpleNamespace(future=future, result=result)


def test_an_advisers_acknowledgement_counts_only_if_it_believes_it():
    store = Store()
    load = FaultLoad(
        store, "ks", VARIANTS, 20, 0.5, np.random.default_rng(1), senders={1: (Doubting(store),) * 2}, rate_per_s=1000.0
    )
    with load:
        time.sleep(0.2)
    ends = load.requests().groupby(["variant", "operation"])["outcome"].agg(set)
    assert ends.to_dict() == {
        (0, "READ"): {0}, (0, "UPDATE"): {0}, (1, "READ"): {0}, (1, "UPDATE"): {OUTCOMES.index("client_timeout")},
    }  # fmt: skip
