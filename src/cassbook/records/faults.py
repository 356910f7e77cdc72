"""Read recorded faults: what each setting made of each, over time and fault by fault."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cassbook.core.consistency import setting
from cassbook.core.errors import LackingError
from cassbook.core.units import MILLION
from cassbook.latency.under_faults import WIDTH_S, between, recovered_after_s
from cassbook.records.experiment import Results
from cassbook.records.kinds import ADVISED, FAULTS
from cassbook.records.manifest import kind_of, open_record

#: What those of the load are called in answers and tables.
OPERATIONS = {"READ": "reads", "UPDATE": "writes"}
#: What became of a member of the advisers' register that has no requests, in the table of steps.
KILLED = "killed"
#: What tells the requests of a schedule apart.
VARIANT = ("setting", "driver", "table", "operation")
#: What `FaultRun.by_fault` repeats of each fault.
_NAMED = ("number", "fault", "node", "start")
_ROW = ("start", "setup", "panel")
#: A half second in which more than this part of requests is not answered is one of failing.
_MOST_FAILED = 0.01
#: What strikes within so many seconds of each other is one fault.
_AT_ONCE_S = 0.5


class FaultRun:
    """A record of `cassbook experiment faults` or `faults-*`.

    Parameters
    ----------
    name_or_path : str or Path

    Attributes
    ----------
    results : Results
        Rows are those of `faults.experiment.FaultExperiment.measure`.
    struck : DataFrame
        One row per order and node: start, setup, number, fault, begins, node, at_s, ordered_s, done_s.
    notices : DataFrame
        Who took which node for up or down, and when: start, setup, observer, node, state, at_s.
    bins : DataFrame
        Requests by half seconds (`under_faults.BINS`), with start, setup and `VARIANT`.

    Raises
    ------
    InputError
        If it is no record of faults; see `Results` for others.
    """

    KINDS: tuple[str, ...] = (FAULTS, ADVISED)

    def __init__(self, name_or_path: str | Path) -> None:
        self.results = results = Results(name_or_path, *self.KINDS)
        self.struck = results.table("struck").drop(columns="panel")
        self.notices = results.table_or_empty("notices", [*_ROW, "observer", "node", "state", "at_s"]).drop(
            columns="panel"
        )
        self.bins = results.table("bins").merge(results.rows[[*_ROW, *VARIANT]], on=list(_ROW))
        self._stories = results.table_or_empty(
            "told", [*_ROW, "kind", "story", "operation", "version", "sent_s", "ended_s", "coordinator"]
        )
        self._faults: dict[str, pd.DataFrame] = {}
        self._made: dict[str, pd.DataFrame] = {}

    @cached_property
    def _by_setup(self) -> dict[Any, pd.DataFrame]:
        return dict(tuple(self.bins.groupby("setup", sort=False)))

    def bins_of(self, setup: str, start: int = 0) -> pd.DataFrame:
        """Return the `bins` of a schedule, of all cluster starts or of one."""
        self.check_has(setup)
        own = self._by_setup[setup]
        return own[own["start"] == start] if start else own

    @property
    def setups(self) -> list[str]:
        """Names of the schedules."""
        return list(self.results.manifest["setups"])

    def check_has(self, setup: str) -> None:
        """Raise LackingError for a schedule that the record has not."""
        if setup not in self.setups:
            raise LackingError(
                f"{self.results.name}: there is no schedule {setup!r}; use one of {', '.join(self.setups)}"
            )

    @property
    def engine(self) -> str:
        """Cassandra's version."""
        return str(self.results.manifest["engine"])

    def title(self, setup: str) -> str:
        """What a schedule does, in words."""
        return str(self.profile(setup)["title"])

    def length_s(self, setup: str) -> float:
        """How long a schedule's load lasts."""
        return float(self.profile(setup)["load"]["steady_s"])

    def profile(self, setup: str) -> dict[str, Any]:
        """Return the profile of a schedule, as it was recorded."""
        self.check_has(setup)
        profile: dict[str, Any] = self.results.manifest["numbers"]["profiles"][setup]
        return profile

    def faults(self, setup: str) -> pd.DataFrame:
        """Return each fault of each cluster start of a schedule.

        Returns
        -------
        DataFrame
            start, number, fault, node, begins_s (when it struck), ends_s (when the node answered again, or the link was
            whole; NaN where it lasted to the end), until_s (when the next one struck, or the load ended).

        Raises
        ------
        LackingError
            If there is no such schedule.
        """
        self.check_has(setup)
        if setup in self._faults:
            return self._faults[setup]
        struck = self.struck[self.struck["setup"] == setup]
        keys = ["start", "number", "fault", "node"]
        begins = struck[struck["begins"]].groupby(keys)["ordered_s"].min().rename("begins_s")
        ends = struck[~struck["begins"]].groupby(keys)["done_s"].max().rename("ends_s")
        table = begins.to_frame().join(ends).reset_index().sort_values(["start", "begins_s"], ignore_index=True)
        length_s = self.length_s(setup)
        table["until_s"] = [_next_s(table, fault, length_s) for fault in _each(table)]
        return self._faults.setdefault(setup, table)

    def by_fault(self, setup: str) -> pd.DataFrame:
        """Say what each setting made of each fault of a schedule.

        A fault's requests are those that were due from when it struck until the next one did, or the load ended.

        Returns
        -------
        DataFrame
            One row per fault, node, `VARIANT` and cluster start: number, fault, node, start, n, failed (share of
            requests that were not answered), worst_p99_ms (of a half second), failing_s (seconds in which more than 1 %
            of requests failed), recovered_s (from when the fault was over until requests were answered again; infinite
            where they were not in time; NaN where it was not over), stale_per_million and back_per_million (of reads),
            and the counts behind shares: unanswered, stale, back.
        """
        if setup in self._made:
            return self._made[setup]
        parts = []
        for fault in _each(self.faults(setup)):
            made = _made_of(self.bins_of(setup, fault.start), fault).reset_index()
            named = pd.DataFrame({name: getattr(fault, name) for name in _NAMED}, index=made.index)
            parts.append(named.join(made))
        return self._made.setdefault(setup, pd.concat(parts, ignore_index=True))

    def noticed(self, setup: str) -> pd.DataFrame:
        """Return how long after a fault began each observer took the node for down, and after its end for up.

        Returns
        -------
        DataFrame
            One row per fault and observer that noticed: start, number, fault, node, observer, down_s (since it struck),
            up_s (since the node answered again; NaN where nobody noticed).
        """
        rows = []
        for fault in _each(self.faults(setup)):
            of_node = self.notices[
                (self.notices["setup"] == setup) & (self.notices["start"] == fault.start)
                & (self.notices["node"] == fault.node)
            ]  # fmt: skip
            for observer, seen in of_node.groupby("observer", sort=False):
                down = seen[(seen["state"] == "down") & seen["at_s"].between(fault.begins_s, fault.until_s)]["at_s"]
                up = seen[(seen["state"] == "up") & (seen["at_s"] > fault.begins_s)]["at_s"]
                if len(down) or len(up):
                    rows.append(
                        {"start": fault.start, "number": fault.number, "fault": fault.fault, "node": fault.node,
                         "observer": observer, "down_s": down.min() - fault.begins_s, "up_s": up.min() - fault.ends_s}
                    )  # fmt: skip
        columns = ["start", "number", "fault", "node", "observer", "down_s", "up_s"]
        return pd.DataFrame(rows, columns=columns)

    def stories(self, kind: str) -> list[pd.DataFrame]:
        """Return histories of a kind, 'stale' reads, reads that went 'back' or 'lost' writes, each with `VARIANT`."""
        stories = self._stories[self._stories["kind"] == kind].merge(
            self.results.rows[[*_ROW, "setting", "driver", "table"]], on=list(_ROW)
        )
        return [story for _, story in stories.groupby([*_ROW, "story"], sort=False)]


def _each(faults: pd.DataFrame) -> Iterator[Any]:
    """Rows as named tuples, of whose values the type is not known."""
    return faults.itertuples()


def _next_s(faults: pd.DataFrame, fault: Any, length_s: float) -> float:
    """When the next fault strikes; what strikes several nodes at once is one."""
    begins_s = faults.loc[faults["start"] == fault.start, "begins_s"]
    later = begins_s[begins_s > fault.begins_s + _AT_ONCE_S]
    return float(later.min()) if len(later) else length_s


def _made_of(bins: pd.DataFrame, fault: Any) -> pd.DataFrame:
    """What a fault of one cluster start made of each `VARIANT`: that is the index. Each is a panel of its own."""
    during = between(bins, fault.begins_s, fault.until_s)
    during = during.assign(failing=during["ok"] < (1 - _MOST_FAILED) * during["n"])
    of = during.groupby("panel", sort=False)
    counts = of[["n", "ok", "stale", "back", "failing"]].sum()
    after = bins[bins["bin_s"].between(fault.ends_s, fault.until_s, inclusive="left")]
    recovered_s = {
        key: recovered_after_s(own, fault.ends_s)
        for key, own in after.groupby("panel", sort=False)[["bin_s", "ok", "n"]]
    }
    made = pd.DataFrame(
        {
            "n": counts["n"], "failed": 1 - counts["ok"] / counts["n"], "worst_p99_ms": of["p99_ms"].max(),
            "failing_s": counts["failing"] * WIDTH_S, "recovered_s": pd.Series(recovered_s, dtype=float),
            "stale_per_million": MILLION * counts["stale"] / counts["n"],
            "back_per_million": MILLION * counts["back"] / counts["n"],
            "unanswered": counts["n"] - counts["ok"], "stale": counts["stale"], "back": counts["back"],
        }
    )  # fmt: skip
    panels = bins.drop_duplicates("panel")
    return made.reindex(panels["panel"]).set_index(pd.MultiIndex.from_frame(panels[list(VARIANT)]))


class AdvisedRun(FaultRun):
    """A record of `cassbook experiment adviser-failing`: settings are switched while nodes fail.

    `steps`: what members of the register did: start, setup, at_s, member, kind (`KILLED`, or as an adviser tells it),
    setting, wanted, reason.

    Raises InputError as `FaultRun`.
    """

    KINDS = (ADVISED,)
    #: The table that the advisers switch.
    SAFE = "safe"

    def __init__(self, name_or_path: str | Path) -> None:
        super().__init__(name_or_path)
        self.steps = self.results.table("steps").drop(columns="panel")
        self._replies = self.results.table_or_empty("replies", [*_ROW, "table", "operation", "ended_s"])

    def kept(self, setup: str) -> pd.DataFrame:
        """Return what became of each table's requests over all starts: index table.

        Columns reads and writes (asked), failed (share that was not answered), stale, back and lost (how many).
        """
        rows = self.results.rows[self.results.rows["setup"] == setup]
        asked = rows.pivot_table(index="table", columns="operation", values="n", aggfunc="sum", sort=False)
        bins = self.bins_of(setup).groupby("table")[["ok", "n"]].sum()
        flaws = rows.groupby("table", sort=False)[["stale", "back", "lost"]].sum()
        counts = asked.rename(columns={"READ": "reads", "UPDATE": "writes"}).rename_axis(columns=None)
        return counts.assign(failed=1 - bins["ok"] / bins["n"]).join(flaws)

    def counts(self, setup: str) -> pd.DataFrame:
        """Return by table and cluster start how many requests there were, and what became of them.

        Index (table, start); columns n, unanswered, reads, stale (of the reads).
        """
        keys = ["table", "start"]
        bins = self.bins_of(setup).groupby(keys, sort=False)[["ok", "n"]].sum()
        rows = self.results.rows[self.results.rows["setup"] == setup]
        reads = rows[rows["operation"] == "READ"].groupby(keys)[["n", "stale"]].sum().rename(columns={"n": "reads"})
        return bins.assign(unanswered=bins["n"] - bins["ok"])[["n", "unanswered"]].join(reads)

    def escapes(self, setup: str) -> pd.DataFrame:
        """Return each fault at which an adviser said that the setting in force cannot be served.

        Columns: start, number, fault, node, setting (in force), reason (where it goes, or why nowhere), known_s
        (since the fault struck), failed_s (likewise, of the first failed reply that a request of the safe table
        received while that setting was in force; NaN for none), left_s (from that reply until both clients were in a
        setting whose reads and writes are served, with a replica dead or with all back; NaN where they did not get
        there before the next fault), swept (a sweep was due first), lived (no member had been killed for a lease, nor
        was one until then or that fault).
        """
        rows = []
        lease_s = self.results.manifest["numbers"]["lease_s"]
        steps, replies = (table[table["setup"] == setup] for table in (self.steps, self._replies))
        replicas = int(self.profile(setup)["cluster"]["replication_factor"])
        named = {name: setting(name, replicas) for name in steps["setting"].unique() if name}
        served = [name for name, pair in named.items() if min(pair.survives(replicas))]  # with one replica dead
        for fault in _each(self.faults(setup)):
            of_start = steps[steps["start"] == fault.start]
            own = of_start[of_start["at_s"].between(fault.begins_s, fault.until_s)]
            escape = own[own["kind"] == "escape"]
            if escape.empty:
                continue
            first = escape.iloc[0]
            safe = replies[(replies["start"] == fault.start) & (replies["table"] == self.SAFE)]["ended_s"]
            failed_s = safe[safe.between(max(fault.begins_s, _in_force_s(of_start, first)), fault.until_s)].min()
            there = own[(own["kind"] == "epoch") & (own["setting"] == own["wanted"]) & (own["at_s"] >= first["at_s"])]
            there = there[there["setting"].isin(served) | (there["at_s"] >= fault.ends_s)]
            left_at_s = there.groupby("member")["at_s"].min().max()
            died_s = of_start[of_start["kind"] == KILLED]["at_s"]
            swept_s = own[own["kind"] == "sweep"]["at_s"]
            since_s = fault.begins_s if np.isnan(failed_s) else failed_s
            until_s = fault.until_s if np.isnan(left_at_s) else left_at_s
            rows.append(
                {"start": fault.start, "number": fault.number, "fault": fault.fault, "node": fault.node}
                | {"setting": first["setting"], "reason": first["reason"], "known_s": first["at_s"] - fault.begins_s}
                | {"failed_s": failed_s - fault.begins_s, "left_s": left_at_s - failed_s}
                | {"swept": swept_s.between(first["at_s"], until_s).any()}
                | {"lived": not died_s.between(since_s - lease_s, until_s).any()}
            )  # fmt: skip
        columns = [
            "start", "number", "fault", "node", "setting", "reason", "known_s", "failed_s", "left_s", "swept", "lived",
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)


def opened(name_or_path: str | Path) -> FaultRun | None:
    """Open a record of faults, of any schedules; None for whatever is something else.

    Raises InputError if it is one, and not complete or damaged.
    """
    return open_record(name_or_path) if kind_of(name_or_path) in FaultRun.KINDS else None


def _in_force_s(steps: pd.DataFrame, step: Any) -> float:
    """When the first member took up the setting of a step; zero if it was there from the beginning."""
    epochs = steps[(steps["kind"] == "epoch") & (steps["at_s"] <= step["at_s"])]
    others_s = epochs[epochs["setting"] != step["setting"]]["at_s"].max()
    taken_s = epochs[epochs["at_s"] > others_s]["at_s"].min()
    return 0.0 if np.isnan(taken_s) else float(taken_s)
