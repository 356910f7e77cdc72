"""The open loop against one server, in virtual time: each response is exact, and a run agrees with queueing theory."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from cassbook.core.schema import OUTCOMES
from cassbook.lab.load.arrivals import Arrivals
from cassbook.lab.load.loop import Bound
from cassbook.lab.load.recorder import Window
from tests.helpers.virtual_time import virtual_loop

SERVICE_S = 0.003
LEAD_IN_S, COUNTED_S = 2.0, 300.0
KINDS, LOADS = ("exponential", "constant"), (0.3, 0.6, 0.8)
_BATCHES = 20


def service_times_s(kind, seed, count):
    """Service times of mean 1, "exponential" or "constant"."""
    return np.random.default_rng(seed).exponential(size=count) if kind == "exponential" else np.ones(count)


def measured(monkeypatch, kind, load, seed=1, counted_s=COUNTED_S, **how):
    """Run the loop; rows of when a request was due, its response time, and outcome, in order, and what was due."""
    rows, window = [], Window()
    service_s = SERVICE_S * service_times_s(kind, seed, int(2 * (LEAD_IN_S + counted_s) * load / SERVICE_S) + 1000)
    arrivals = Arrivals("poisson", load / SERVICE_S, (seed, 2))
    loop = virtual_loop(monkeypatch, service_s, arrivals, lambda *row: rows.append(row), **how)
    outcome = loop.run(Bound(LEAD_IN_S, counted_s), window)
    table = np.array(rows)[np.argsort([row[5] for row in rows])]
    response = table[:, 0] + table[:, 1] - table[:, 5]
    counted = (table[:, 5] >= window.steady_from) & (table[:, 5] < window.steady_to)
    return table[:, 5], response, counted, table[:, 3], outcome, service_s


def lindley_s(due_s, service_s):
    """From when each is due to when the one server is through with it."""
    done_s = np.cumsum(service_s)
    return done_s + np.maximum.accumulate(due_s - (done_s - service_s)) - due_s


def p99_s(kind, load):
    """99th percentile of the time in the system: exponential in M/M/1; Erlang's series in M/D/1."""
    if kind == "exponential":
        return math.log(100) * SERVICE_S / (1 - load)
    waits = np.arange(0, 40, 0.01)  # in service times
    share = [
        (1 - load)
        * sum((load * (k - t)) ** k / math.factorial(k) * math.exp(-load * (k - t)) for k in range(int(t) + 1))
        for t in waits
        if t < 20  # further on the alternating series loses its digits, and all is above 99 % long before
    ]
    return SERVICE_S * (1 + waits[int(np.argmax(np.array(share) >= 0.99))])


@pytest.mark.parametrize(("kind", "load"), list(itertools.product(KINDS, LOADS)))
def test_responses_are_the_queues_and_their_mean_and_p99_the_theorys(monkeypatch, kind, load):
    due_s, response_s, counted, _, outcome, service_s = measured(monkeypatch, kind, load)
    assert response_s == pytest.approx(lindley_s(due_s, service_s[: len(due_s)]), abs=1e-9)
    assert outcome.due.n_due == counted.sum()
    assert outcome.due.late_s.max() == 0  # in virtual time nothing is late
    batches = np.array_split(response_s[counted], _BATCHES)
    mean_s = SERVICE_S / (1 - load) if kind == "exponential" else SERVICE_S * (1 + load / (2 * (1 - load)))
    theory = {"mean": (np.mean, mean_s), "p99": (lambda batch: np.quantile(batch, 0.99), p99_s(kind, load))}
    for name, (figure, expected_s) in theory.items():
        found = [figure(batch) for batch in batches]
        low, high = stats.t.interval(0.999, _BATCHES - 1, np.mean(found), stats.sem(found))
        assert low < expected_s < high, (name, low, expected_s, high)


@pytest.mark.parametrize(("kind", "load"), list(itertools.product(KINDS, LOADS)))
def test_what_counts_of_a_segment_has_no_trend(monkeypatch, kind, load):
    """Forty segments, each from an idle server: a lead-in that were too short would let responses rise in all."""
    slopes = []
    for seed in range(40):
        due_s, response_s, counted, *_ = measured(monkeypatch, kind, load, seed, 5.0)
        slopes.append(stats.linregress(due_s[counted], response_s[counted]).slope)
    assert abs(np.mean(slopes)) < 4 * stats.sem(slopes)


def test_requests_go_on_until_the_last_that_counts_is_answered(monkeypatch):
    """Else the last of a segment would be answered by a server at rest."""
    due_s, response_s, counted, *_ = measured(monkeypatch, "constant", 0.8, counted_s=5.0)
    last_answer_s = (due_s + response_s)[counted].max()
    after = due_s[due_s > due_s[counted].max()]
    assert len(after)
    assert np.diff(after, prepend=due_s[counted].max()).max() < 0.05
    assert after.max() > last_answer_s - 0.05


def test_what_takes_too_long_is_given_up_and_counted(monkeypatch):
    """At twice what the server carries the wait grows beyond the time-out; nobody's request is lost from the count."""
    _, _, counted, outcomes, outcome, _ = measured(monkeypatch, "constant", 2.0, counted_s=5.0, timeout_s=1.0)
    by_kind = {OUTCOMES[int(kind)] for kind in outcomes}
    assert by_kind == {"ok", "client_timeout"}
    assert outcome.due.n_due == counted.sum() + outcome.due.n_in_flight + outcome.due.n_unsent
    assert outcome.due.n_unsent == 0
