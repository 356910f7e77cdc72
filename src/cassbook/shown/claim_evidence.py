"""What the project's own records say of claims that no printed table can test, in words, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache

import pandas as pd

from cassbook import published
from cassbook.claims.statement import PAPERS, Evidence, Paper, Verdict
from cassbook.core.consistency import LEVELS
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.proportion import share_text
from cassbook.deployment.inferred_regions import by_deployment
from cassbook.latency import changepoint, cold_start
from cassbook.latency.summaries import pure_cells
from cassbook.records import distance_experiments
from cassbook.records.experiment import Results
from cassbook.records.fault_costs import while_dead
from cassbook.records.faults import FaultRun
from cassbook.records.predictor import OracleRun
from cassbook.records.run import RecordedRun
from cassbook.records.strong_reads import among_failures
from cassbook.staleness import curves
from cassbook.staleness.ccm_study import VERSIONS_AT_MS, settings_of
from cassbook.thesis.records import LATENCIES, counted
from cassbook.thesis.records import records as thesis_records

#: By the id of a claim, what was measured, and the verdict by that.
Said = dict[str, tuple[str, Verdict]]

#: The study speaks of a probability that 'reaches 1' at 1.5 seconds.
_AT_MS, _ONE = 1500.0, 0.9995
#: Probabilities that its predictor tells apart, from 10,000 trials.
_DECIMALS = 2
#: Of requests that fail, or are answered, while a node is dead: the first seconds are of both kinds.
_NEARLY_ALL = 0.9
_CLUSTERS = {"none": "no distance", "regions": "four regions"}


def _above(ratio: Estimate, than: float = 1.0) -> Verdict:
    """Whether a ratio is above a number, as a claim has it; 'untestable' where its interval holds the number."""
    if not (ratio.low > than or ratio.high < than):
        return "untestable"
    return "reproduced" if ratio.low > than else "not_reproduced"


def _whether(held: bool) -> Verdict:
    return "reproduced" if held else "not_reproduced"


def _predictor(name: str) -> tuple[Said, str]:
    run = OracleRun(name)
    answers = run.answers("none", 1, 1, load="study")
    over_t = answers[answers["k"] == 1].set_index("t_ms")["p"].sort_index()
    late = over_t[over_t.index >= _AT_MS].iloc[0]
    reached = over_t.index[over_t >= _ONE]
    since = f"from {reached[0]:g} ms on" if len(reached) else "not within what was asked"
    at_100 = {(r, w): _over_versions(run, r, w) for r, w in run.settings}
    least_at = {k: min(said[k] for said in at_100.values()) for k in at_100[1, 1]}
    lowest = [round(p, _DECIMALS) <= round(least_at[k], _DECIMALS) for k, p in at_100[1, 1].items()]
    seen = {
        setup: {pair: curves.over_t(run.counted(setup, *pair)).iloc[0] for pair in run.settings} for setup in _CLUSTERS
    }
    least = [min(by, key=lambda pair: by[pair]["p"]) == (1, 1) for by in seen.values()]
    first = {_CLUSTERS[setup]: by[1, 1] for setup, by in seen.items()}
    at_once = ", ".join(f"{where} {share_text(Estimate(p['p'], p['low'], p['high']))} %" for where, p in first.items())
    listed = ", ".join(f"k = {k}: {p:.3f}" for k, p in at_100[1, 1].items() if k <= 3)  # noqa: PLR2004 - the first few
    return {
        "pbs-t-visibility-1.5": (
            f"P = {late:.5f} at 1.5 s by the same predictor under the same load; 1 to three decimals {since}",
            _whether(late >= _ONE),
        ),
        "pbs-100-ms": (f"by the same predictor, 100 ms after the last write, R=1, W=1: {listed}", "untestable"),
        "pbs-lowest-k": (
            f"by the same predictor (R=1, W=1) is lowest at {sum(lowest)} of {len(lowest)} numbers of versions",
            _whether(all(lowest)),
        ),
        "pbs-weakest-small-t": (f"reads seen at once after the write, R=1, W=1: {at_once}", _whether(all(least))),
    }, run.results.manifest["engine"]  # fmt: skip


def _over_versions(run: OracleRun, r: int, w: int) -> dict[int, float]:
    answers = run.answers("none", r, w, load="study")
    at_100 = answers[answers["t_ms"] == VERSIONS_AT_MS]
    return {int(k): float(p) for k, p in zip(at_100["k"], at_100["p"], strict=True)}


def _study(name: str) -> tuple[Said, str]:
    results = Results(name)
    said: Said = {}
    for row in published.table("pbs_ratios").to_dict("records"):
        operation, printed = str(row["operation"]).lower(), float(row["ratio"])
        over, under = (settings_of(str(row[side])) | {"setup": "none"} for side in ("worse", "than"))
        ratio = results.ratio(f"stress_{operation}_ms", over, under)
        said[f"pbs-{operation}-{printed:g}"] = (
            f"{ratio:.2f} times, by the same tool and number of nodes on two cores of ours",
            _whether(ratio.low <= printed <= ratio.high),
        )
    return said, results.manifest["engine"]


def _uplinks(name: str) -> tuple[Said, str]:
    results = Results(name)
    ratio = distance_experiments.writes_by_reads(results)
    measured = f"writes by reads: {ratio['narrow up']:.2f} with a narrow uplink, {ratio['equal']:.2f} with equal ways"
    return {"g21-downlinks": (measured, _above(ratio["narrow up"]))}, results.manifest["engine"]


def _coordinators(name: str) -> tuple[Said, str]:
    results = Results(name)
    gain = distance_experiments.three_coordinators(results, "READ")
    measured = f"three coordinators in turn give {gain:.2f} times the reads of one, in (a) at ONE"
    return {"g21-coordinator": (measured, _above(gain))}, results.manifest["engine"]


def _proxy(name: str) -> tuple[Said, str]:
    results = Results(name)
    most = int(results.rows["rows_a_page"].max())
    spared = distance_experiments.without_proxy(results)
    measured = f"a page of {most} rows takes {spared:.1f} times as long without the middleware, in (b)"
    return {"g21-middleware": (measured, _above(spared))}, results.manifest["engine"]


def _asynchronous(name: str) -> tuple[Said, str]:
    results = Results(name)
    more, reached = distance_experiments.more_in_flight(results)
    return {
        "g21-asynchronous": (
            f"2000 requests in flight instead of 100 give {more:.1f} times the reads a second, in (b)", _above(more),
        ),
        "g21-single-client": (
            f"one client with 2000 requests in flight in (b) gets {reached:.2f} times the most of (a)",
            "untestable" if reached.low < 1 < reached.high else _whether(reached.high < 1),
        ),
    }, results.manifest["engine"]  # fmt: skip


def _timeouts(name: str) -> tuple[Said, str]:
    results = Results(name)
    rows = results.rows
    sums = rows.groupby("timeout")[["unanswered", "requests"]].sum()
    names = [name for name in results.manifest["numbers"]["timeouts"] if name in sums.index]
    lost = ", ".join(f"{sums.loc[n, 'unanswered']:.0f} of {sums.loc[n, 'requests']:.0f} with {n}" for n in names)
    observed, fixed = ({"phase": "stalled", "timeout": timeout} for timeout in ("run time", _best_fixed(rows)))
    ratio = results.ratio("latency_ms", observed, fixed)
    return {
        "g21-timeouts": (
            f"requests without an answer in (d), by time-out: {lost}",
            _whether(bool((sums["unanswered"] > 0).any())),
        ),
        "g21-timeouts-at-run-time": (
            f"while a node stalls, one set at run time gives {ratio:.2f} times the latency of the best fixed one",
            _above(Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low, ratio.n)),
        ),
    }, results.manifest["engine"]  # fmt: skip


def _best_fixed(rows: pd.DataFrame) -> str:
    """The fixed time-out of least latency while a node stalls, of those that always brought an answer."""
    fixed = rows[rows["timeout"] != "run time"]
    answered = fixed.groupby("timeout")["unanswered"].sum()
    stalled = fixed[fixed["phase"] == "stalled"].groupby("timeout")["latency_ms"].mean()
    return str(stalled[answered[answered == 0].index].idxmin())


def _thesis_alone(name: str) -> tuple[Said, str]:
    run = RecordedRun(name)
    cells = pure_cells(run.statistics)
    slowest = cells.pivot_table("latency_us", ["operation", "threads"], "level").idxmax(axis=1) == "ALL"
    most = cells.groupby(["operation", "level"])["throughput_per_s"].max()
    listed = {o: ", ".join(f"{x} {most[o, x]:,.0f}" for x in LEVELS) for o in ("READ", "WRITE")}
    here = "another machine, so the numbers themselves say nothing"
    words = f"ALL is slowest in {slowest.sum()} of {len(slowest)} rows"
    return {
        "thesis-all-latency": (words, _whether(bool(slowest.all()))),
        "thesis-read-maximum": (f"{listed['READ']} a second at most ({here})", "untestable"),
        "thesis-write-maximum": (f"{listed['WRITE']} a second at most ({here})", "untestable"),
    }, run.manifest["engine"]  # fmt: skip


def _thesis_mixes(name: str) -> tuple[Said, str]:
    run = RecordedRun(name)
    table = counted(thesis_records(run.statistics))
    said: Said = {}
    for claim, rows in table.groupby("claim"):
        by = rows.set_index("latency")
        right, total = by["right"].to_dict(), by["total"].to_dict()
        words = ", ".join(f"{right[of]} of {total[of]} by {word}" for of, word in LATENCIES.items())
        said[str(claim)] = (f"in {words}", _whether(right["latency_us"] == total["latency_us"]))
    return said, run.manifest["engine"]


def _cold(name: str) -> tuple[Said, str]:
    run = RecordedRun(name)
    cells = cold_start.against_warm(run)
    starts = [cold_start.end(bins) for bins in cells["bins"] if bins is not None and len(bins) >= changepoint.FEWEST]
    known = [start for start in starts if start.ends_ms is not None]
    if not known:
        raise InputError(f"{name}: no cell has a cold start that ends")
    ends, factors = [float(start.ends_ms or 0) for start in known], [start.factor for start in known]
    (low_ms, high_ms), (low, high) = cold_start.PAPER_ENDS_MS, cold_start.PAPER_FACTOR
    of = f"{len(known)} of {len(starts)} cells that began cold have one that ends"
    return {
        "g20-cold-start-length": (
            f"after {min(ends):.0f} to {max(ends):.0f} ms; {of}", _whether(all(low_ms <= x <= high_ms for x in ends)),
        ),
        "g20-cold-start-factor": (
            f"{min(factors):.1f} to {max(factors):.1f} times; {of}", _whether(all(low <= x <= high for x in factors)),
        ),
    }, run.manifest["engine"]  # fmt: skip


def _volatile(name: str) -> tuple[Said, str]:
    run = RecordedRun(name)
    near = run.statistics[run.statistics["deployment"].map(by_deployment()) == "a"]
    table = pure_cells(near).pivot_table("cv_percent", ["operation", "level"], "threads")
    most = table.columns.max()
    above = table[most] > table.drop(columns=most).mean(axis=1)
    return {
        "g21-volatile": (
            f"variation at {most} threads is above the mean of fewer in {above.sum()} of {len(above)} columns of (a)",
            _whether(bool(above.all())),
        )
    }, run.manifest["engine"]


_faults = cache(FaultRun)


def _failing_strong(name: str) -> tuple[Said, str]:
    run = _faults(name)
    strong = among_failures(run)
    listed = "; ".join(
        f"{count:,} where {(title := run.title(str(setup)))[0].lower()}{title[1:]}"
        for setup, count in strong.stale_by_schedule.items()
    )
    return {
        "g20-always-strong": (
            f"{strong.stale:,} of {strong.reads:,} reads at settings with R + W > N were stale among "
            f"failing nodes: {listed}",
            _whether(strong.stale == 0),
        ),
        "g20-read-all-fails": _failed_at_all(run, "3R-1W", "reads"),
    }, run.engine  # fmt: skip


def _failed_at_all(run: FaultRun, setting: str, operation: str) -> tuple[str, Verdict]:
    """What became of requests at ALL while one node of three was dead."""
    share = while_dead(run)[operation].to_dict()[setting]
    words = f"{share.text()} % of {operation} at ALL were not answered while one node of three was dead"
    return words, _above(share, _NEARLY_ALL)


def _failing_thesis(name: str) -> tuple[Said, str]:
    run = _faults(name)
    dead = while_dead(run).loc["ONE/ONE"].to_dict()
    answered = ", ".join(f"{share.rest.text()} % of {operation}" for operation, share in dead.items())
    return {
        "thesis-write-all-fails": _failed_at_all(run, "1R-3W", "writes"),
        "thesis-read-all-fails": _failed_at_all(run, "3R-1W", "reads"),
        "thesis-one-node-fails": (
            f"at ONE {answered} were answered while one node of three was dead",
            _whether(all(share.high < 1 - _NEARLY_ALL for share in dead.values())),
        ),
    }, run.engine  # fmt: skip


def _failing_pbs(name: str) -> tuple[Said, str]:
    run = _faults(name)
    killed = run.struck[run.struck["begins"] & (run.struck["fault"] == "kill")]
    starts = len(killed[["start", "setup"]].drop_duplicates())
    return {
        "pbs-local": (
            f"{len(killed)} nodes of local clusters were killed under load, in {starts} cluster starts",
            _whether(killed.empty),
        ),
    }, run.engine  # fmt: skip


#: Records, the paper whose claims each tests, and how.
_OF_RECORDS: Sequence[tuple[str, Paper, Callable[[str], tuple[Said, str]]]] = (
    ("standard-2.1.20", "g20", _cold),
    ("faults-2.1.20", "g20", _failing_strong),
    ("faults-2.1.20", "pbs", _failing_pbs),
    ("faults-2.1.20", "thesis", _failing_thesis),
    ("oracle-1.2.0", "pbs", _predictor),
    ("study-2.1.20", "pbs", _study),
    ("distance-2.1.20", "g21", _volatile),
    ("uplinks-2.1.20", "g21", _uplinks),
    ("coordinators-2.1.20", "g21", _coordinators),
    ("proxy-2.1.20", "g21", _proxy),
    ("asynchronous-2.1.20", "g21", _asynchronous),
    ("timeouts-2.1.20", "g21", _timeouts),
    ("thesis-1-3.11.4", "thesis", _thesis_alone),
    ("thesis-2-3.11.4", "thesis", _thesis_mixes),
)


def by_records(papers: Collection[Paper] = PAPERS) -> dict[str, Evidence]:
    """Put the project's own records to the claims that they can test.

    `papers`: those whose claims are wanted.

    By the id of the claim.

    Raises InputError if a record is missing or damaged.
    """
    found: dict[str, Evidence] = {}
    for name, paper, of_record in _OF_RECORDS:
        if paper in papers:
            said, engine = of_record(name)
            found |= {claim: Evidence(measured, verdict, engine, name) for claim, (measured, verdict) in said.items()}
    return found
