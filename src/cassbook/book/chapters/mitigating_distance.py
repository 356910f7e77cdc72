"""Tables and figures of the recorded experiments, as the chapter on what helps at a distance shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.deployment.distances import Distances, placed, uplink_distances
from cassbook.deployment.model import IN_FLIGHT, Model
from cassbook.deployment.notation import parse
from cassbook.records import distance_experiments
from cassbook.records.distance_experiments import DISTANCE_QUESTIONS
from cassbook.records.experiment import Results
from cassbook.shown.tables import titled

#: The experiments at a distance, and their records without the version.
EXPERIMENTS = tuple(DISTANCE_QUESTIONS)
#: The time-out that is set at run time, in the experiment's rows.
OBSERVED = "run time"
#: What the book calls operations.
OPERATIONS = {"READ": "reads", "UPDATE": "writes"}
_WORDS = {
    "latency_ms": "latency, ms", "p50_ms": "median, ms", "p99_ms": "99 %, ms", "p999_ms": "99.9 %, ms",
    "throughput_per_s": "1/s", "relay_chunks_per_s": "chunks/s", "longest_ms": "longest, ms",
}  # fmt: skip


def recorded(version: str) -> dict[str, Results]:
    """Return all experiments that `data/records` holds for a version of Cassandra, in the order of the catalogue.

    Raises
    ------
    InputError
        If one is missing.
    """
    return {name: Results(f"{name}-{version}") for name in EXPERIMENTS}


def text(value: Estimate) -> str:
    """Return a mean and how far its interval reaches, as many digits as that is worth."""
    digits = 0 if abs(value.value) >= 100 else 1  # noqa: PLR2004 - as in the tables of latencies
    return f"{value:±%,.{digits}f}"


def under_load(results: Results, values: Sequence[str] = ("latency_ms", "throughput_per_s")) -> pd.DataFrame:
    """Return conditions of an experiment with a closed loop: index (setup, condition), columns (operation, value).

    Parameters
    ----------
    results : Results
    values : sequence of str
        Columns of its rows.

    Returns
    -------
    DataFrame
        Means over cluster starts (Estimate); NaN where a condition has no such operation.
    """
    columns = {}
    for value in values:
        means = results.mean(value, ["operation", "setup", "condition"])
        for operation, word in OPERATIONS.items():
            if operation in means.index:
                columns[word, value] = means.xs(operation)
    table = pd.DataFrame(columns)
    measured = [(word, value) for word in OPERATIONS.values() for value in values if (word, value) in columns]
    return table.reindex(_order(results, table.index))[measured]


def under_load_shown(results: Results, values: Sequence[str] = ("latency_ms", "throughput_per_s")) -> pd.DataFrame:
    """Return `under_load` in words."""
    table = under_load(results, values)
    columns: list[Any] = list(table.columns)
    return titled(table, {(word, value): ((word, _WORDS[value]), text) for word, value in columns})


def _order(results: Results, measured: pd.Index) -> pd.MultiIndex:
    """Conditions in the order of the record's manifest, which is the catalogue's."""
    rows = [
        (setup, name)
        for setup, conditions in results.manifest["numbers"]["conditions"].items()
        for name in conditions
        if (setup, name) in measured
    ]
    return pd.MultiIndex.from_tuples(rows, names=["setup", "condition"])


def model_ms(results: Results) -> pd.DataFrame:
    """Return what distance alone makes of each condition, ms: index (setup, condition).

    Returns
    -------
    DataFrame
        alone (one request at a time) and held (what coordinators that hold so many at a time make of all threads).
    """
    rows = {}
    for setup, conditions in results.manifest["numbers"]["conditions"].items():
        notes = results.manifest["setups"][setup]
        where = placed(parse(notes["deployment"]), notes["regions"])
        names = [host.name for host in where.deployment.replicas]
        held = int(notes["options"].get("native_transport_max_threads", IN_FLIGHT))
        for name, condition in conditions.items():
            policy = condition["coordinator"]
            if policy.startswith("node"):
                policy = names[int(policy[4:]) - 1]
            placement = replace(where, distances=_distances(condition["distances"]) or where.distances)
            model = Model(placement, condition["level"], policy, len(names), in_flight=held)
            bounds = model.bounds_ms(condition["threads"])
            rows[setup, name] = (bounds["distance"], bounds["coordinator"])
    index = pd.MultiIndex.from_tuples(list(rows), names=["setup", "condition"])
    return pd.DataFrame(list(rows.values()), index, ["alone", "held"]).round(1)


def _distances(name: str | None) -> Distances | None:
    """Distances that a manifest names; None for the setup's.

    Raises
    ------
    InputError
        If no experiment has distances of that name.
    """
    if name is None:
        return None
    known = {one.name: one for one in uplink_distances().values() if one}
    if name not in known:
        raise InputError(f"distances {name!r} are unknown; known are {', '.join(map(repr, known))}")
    return known[name]


def pages(results: Results) -> pd.DataFrame:
    """Return the latency of a page, direct_ms and proxy_ms, and the ratio of the one to the other (Estimate): index
    rows_a_page.
    """
    means = results.mean("latency_ms", ["way", "rows_a_page"])
    sizes = sorted(results.rows["rows_a_page"].unique())
    rows = {}
    for size in sizes:
        faster = results.ratio(
            "latency_ms", {"way": "direct", "rows_a_page": size}, {"way": "proxy", "rows_a_page": size}
        )
        rows[size] = (means["direct", size], means["proxy", size], faster)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["direct_ms", "proxy_ms", "ratio"])


def pages_shown(results: Results) -> pd.DataFrame:
    """Return `pages` in words."""
    columns = {
        "direct_ms": ("direct, ms", text), "proxy_ms": ("through the proxy, ms", text),
        "ratio": ("direct / proxy", ratio_text),
    }  # fmt: skip
    return titled(pages(results), columns).rename_axis("rows a page")


def timeouts(results: Results) -> pd.DataFrame:
    """Return what each time-out made of each phase: index timeout, columns (phase, value).

    Returns
    -------
    DataFrame
        mean_ms, and given_up: attempts a hundred requests. Both NaN where each client still waited for a request of an
        earlier phase, so that none began.
    """
    mean_ms, given_up = by_phase(results)
    phases = results.rows.drop_duplicates("place").sort_values("place")["phase"]
    columns = {}
    for phase in phases:
        columns[phase, "mean_ms"] = mean_ms[phase]
        columns[phase, "given_up"] = given_up[phase]
    return pd.DataFrame(columns).loc[results.manifest["numbers"]["timeouts"]]


def timeouts_shown(results: Results) -> pd.DataFrame:
    """Return `timeouts` in words."""
    table = timeouts(results)
    formats = {"mean_ms": ("mean, ms", ",.0f"), "given_up": ("given up", ",.1f")}
    columns: list[Any] = list(table.columns)
    words = titled(table, {(phase, name): ((phase, formats[name][0]), formats[name][1]) for phase, name in columns})
    for phase in words.columns.unique(0):
        words[phase, "mean, ms"] = words[phase, "mean, ms"].replace("", "none began")
    return words


def by_phase(results: Results) -> tuple[pd.Series, pd.Series]:
    """Return the mean latency over requests, ms, and attempts given up a hundred requests: index (phase, timeout)."""
    rows = results.rows.assign(all_ms=results.rows["latency_ms"] * results.rows["requests"])
    sums = rows.groupby(["phase", "timeout"])[["all_ms", "requests", "expired"]].sum()
    requests = sums["requests"].where(sums["requests"] > 0)
    return sums["all_ms"] / requests, 100 * sums["expired"] / requests


def questions(trials: Mapping[str, Results]) -> str:
    """Return what each experiment asks, on how many cluster starts, and how many rows it gave, as an HTML table."""
    rows = {}
    for name, trial in trials.items():
        setups = trial.manifest["setups"]
        rows[name] = (DISTANCE_QUESTIONS[name], trial.manifest["starts"] * len(setups), len(trial.rows))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["question", "cluster starts", "rows"])
    with pd.option_context("display.max_colwidth", None):
        return str(table.to_html(justify="left"))


def with_model(results: Results) -> pd.DataFrame:
    """Return `under_load` in words, with what distance alone makes of each condition (see `model_ms`)."""
    titles = {"alone": "one at a time", "held": "held"}
    model = {name: (("distance alone, ms", title), ",.1f") for name, title in titles.items()}
    return under_load_shown(results).join(titled(model_ms(results), model))


def coordinators_values(results: Results) -> dict[str, str]:
    """Return ratios of throughput: three_reads and three_writes (three by one at ONE in a), near (c by a at ONE),
    and in c at
    QUORUM spread (three by one) and held (`many` requests at a coordinator by the `default`, which are given too).
    """
    three = {
        f"three_{word}": ratio_text(distance_experiments.three_coordinators(results, name))
        for word, name in (("reads", "READ"), ("writes", "UPDATE"))
    }
    default = {"setup": "c", "condition": "one at QUORUM"}
    return three | {
        "default": str(IN_FLIGHT),
        "held_most": str(results.manifest["setups"]["c-1024"]["options"]["native_transport_max_threads"]),
        "near": _times(results, {"setup": "c", "condition": "one at ONE"}, {"condition": "three at ONE"}, "READ"),
        "three_coordinators": _times(results, {"setup": "c", "condition": "three at QUORUM"}, default, "READ"),
        "held": _times(results, {"setup": "c-1024", "condition": "one at QUORUM"}, default, "READ"),
    }


def _times(
    results: Results, over: Mapping[str, str], under: Mapping[str, str], operation: str, value: str = "throughput_per_s"
) -> str:
    at = {"operation": operation}
    return ratio_text(results.ratio(value, {**over, **at}, {**under, **at}))


def ratio_text(value: Estimate) -> str:
    """Return a ratio with its interval, two digits behind the point."""
    return f"{value:.2f}"


def uplinks_values(results: Results) -> dict[str, str]:
    """Return the latency of writes by that of reads, by condition."""
    ratios = distance_experiments.writes_by_reads(results)
    return {name.replace(" ", "_"): ratio_text(ratio) for name, ratio in ratios.items()}


def asynchronous_values(results: Results) -> dict[str, str]:
    """Return the throughput of reads in b: more (2000 in flight by 100), reached (by the most of a)."""
    more, reached = distance_experiments.more_in_flight(results)
    return {"more": ratio_text(more), "reached": ratio_text(reached)}


def proxy_values(results: Results) -> dict[str, str]:
    """Return pages of the most rows: spared (latency directly by that by the proxy), a_row_ms (a row more by the
    proxy).
    """
    sizes = results.rows["rows_a_page"]
    least, most = int(sizes.min()), int(sizes.max())
    by_proxy = results.rows[results.rows["way"] == "proxy"].groupby(["rows_a_page", "start"])["latency_ms"].mean()
    return {
        "page_sooner": ratio_text(distance_experiments.without_proxy(results)),
        "a_row_ms": text(Estimate.mean((by_proxy[most] - by_proxy[least]) / (most - least))),
    }


def two_centres_values(results: Results) -> dict[str, str]:
    """Return the latencies: away (reads at QUORUM by LOCAL_QUORUM), and each (writes at EACH_QUORUM by QUORUM)."""
    return {
        "away": _times(results, {"condition": "QUORUM"}, {"condition": "LOCAL_QUORUM"}, "READ", "latency_ms"),
        "each_quorum": _times(results, {"condition": "EACH_QUORUM"}, {"condition": "QUORUM"}, "UPDATE", "latency_ms"),
    }


def speculation_values(results: Results) -> dict[str, str]:
    """Return 99.9 % of reads of each setting by that of NONE, and chunks that went through the relay."""
    ratios = {}
    for name in dict.fromkeys(results.rows["condition"]):
        if name != "NONE":
            for word, value in (("tail", "p999_ms"), ("work", "relay_chunks_per_s")):
                ratio = results.ratio(value, {"condition": name}, {"condition": "NONE"})
                ratios[f"{word}_{str(name).lower()}"] = ratio_text(ratio)
    return ratios


def timeouts_values(results: Results) -> dict[str, float]:
    """Return the time-out set at run time compared with the fixed ones, mean latencies in ms over requests.

    Returns
    -------
    dict
        stalled_observed, stalled_longest (the longest fixed time-out), stalled_best (the fixed one that is best there,
        of those that always brought an answer), calm_observed, calm_best (the same one), given_up (attempts a hundred
        requests that the one set at run time gave up while all was calm again).
    """
    mean_ms, given_up = by_phase(results)
    answers = results.rows.groupby("timeout")["unanswered"].sum().drop(OBSERVED)
    fixed = [name for name in results.manifest["numbers"]["timeouts"] if answers.get(name) == 0]
    best = min(fixed, key=lambda name: mean_ms["stalled", name])
    return {
        "stalled_observed": mean_ms["stalled", OBSERVED], "stalled_longest": mean_ms["stalled", fixed[-1]],
        "stalled_best": mean_ms["stalled", best], "calm_observed": mean_ms["calm again", OBSERVED],
        "calm_best": mean_ms["calm again", best], "given_up": given_up["calm again", OBSERVED],
    }  # fmt: skip


#: Colours that the colour-blind can distinguish (Okabe and Ito).


def over_requests(results: Results) -> Figure:
    """Draw the throughput over requests in flight with intervals over cluster starts: one panel per operation, one
    line per setup.
    """
    means = results.mean("throughput_per_s", ["operation", "setup", "threads"]).sort_index()
    figure, axes = panels(1, len(OPERATIONS), width=4.2, height=3.2, sharey=True)
    for panel, (operation, word) in zip(axes[0], OPERATIONS.items(), strict=True):
        for colour, setup in zip(palette.SERIES, sorted(results.manifest["setups"]), strict=False):
            rates = means[operation, setup]
            _with_intervals(panel, rates.index.to_numpy(), rates, colour, f"scenario {setup}")
        panel.set(title=word, xlabel="requests in flight", xscale="log")
    axes[0, 0].set(ylabel="throughput, 1/s", ylim=(0, None))
    axes[0, -1].legend()
    return done(figure)


def by_level(results: Results) -> Figure:
    """Draw the latency of each condition, and what distance alone makes of it (crosses): reads and writes side by
    side.
    """
    means = results.mean("latency_ms", ["operation", "condition"])
    alone = model_ms(results)["alone"].droplevel("setup")
    figure, axes = panels(1, 1, width=9.0, height=3.6)
    panel, names = axes[0, 0], list(alone.index)
    for offset, (operation, word) in zip((-0.12, 0.12), OPERATIONS.items(), strict=True):
        latencies = means[operation].reindex([name for name in names if name in means[operation].index])
        places = np.array([names.index(name) for name in latencies.index]) + offset
        _with_intervals(panel, places, latencies, palette.OPERATIONS[operation], word, line="")
    panel.plot(range(len(names)), alone, "x", color="black", label="distance alone, one request at a time")
    panel.set_xticks(range(len(names)), names)
    panel.set(ylabel="mean latency, ms", ylim=(0, None))
    figure.legend(loc="outside upper center", ncols=3)
    return done(figure)


def through_phases(results: Results) -> Figure:
    """Draw the mean latency of each time-out in each phase of the schedule; none where no request began."""
    mean_ms, _ = by_phase(results)
    phases = results.rows.drop_duplicates("place").sort_values("place")["phase"].to_list()
    figure, axes = panels(1, 1, width=7.0, height=3.4)
    panel = axes[0, 0]
    for colour, name in zip(palette.SERIES, results.manifest["numbers"]["timeouts"], strict=False):
        latency_ms = [mean_ms[phase, name] for phase in phases]
        width = 2.4 if name == OBSERVED else 1.2
        label = "set at run time" if name == OBSERVED else name
        panel.plot(range(len(phases)), latency_ms, "o-", color=colour, linewidth=width, markersize=5, label=label)
    panel.set_xticks(range(len(phases)), phases)
    panel.set(ylabel="mean latency, ms", yscale="log")
    panel.legend(title="time-out", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return done(figure)


def _with_intervals(
    panel: Axes, places: np.ndarray, means: pd.Series, colour: str, label: str, line: str = "-"
) -> None:  # fmt: skip
    values = np.array([mean.value for mean in means])
    below, above = (np.array([abs(end - mean.value) for mean, end in zip(means, ends, strict=True)])
                    for ends in ([mean.low for mean in means], [mean.high for mean in means]))  # fmt: skip
    panel.errorbar(places, values, [below, above], fmt=f"o{line}", color=colour, markersize=4, capsize=2, label=label)
