"""A record of faults, as `cassbook show`, `cassbook experiment faults` at its end, and reports have it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from cassbook.core.estimate import Estimate
from cassbook.core.words import markdown
from cassbook.profile.fault_schedule import Fault
from cassbook.records.fault_summary import (
    FAULT,
    OBSERVERS,
    PHASES,
    UNANSWERED,
    ScheduledFault,
    not_struck,
    summary,
)
from cassbook.records.faults import OPERATIONS, FaultRun
from cassbook.shown.tables import WIDTH, Format, csv, formatted, lines, wrapped

_PERCENT = 100
#: Columns of words, which stand to the left; those that are the same in a whole schedule are left out.
_WORDS = ("setting", "driver", "table", "operation")
#: The column of words that may be long.
ENDED = "how they ended"
_KINDS = {
    "unavailable": "unavailable", "server_timeout": "timed out at the server", "client_timeout": "at the client",
    "connection_lost": "connection lost", "other": "other errors",
}  # fmt: skip
_WHO = {"driver": "the driver", "nodes": "the other nodes"}
#: What a reader of the tables must know.
NOTES = (
    "Due are requests from when a fault struck until the next one did, or the load ended. %: those not answered, with "
    "95 % bounds: over cluster starts, without bounds where these are fewer than three; at none or all the binomial "
    "bound, which holds for requests in outages like these.",
    "p99 of answered requests in ms, from when they were due; medians over half seconds: before the first fault; from "
    "when a fault struck until the driver and the nodes that noticed it had (unnoticed); until it was over (noticed); "
    "then until the next one, or the end (after). '-': none was answered, or there is no such time.",
)


def heading(run: FaultRun) -> str:
    """Say in a line which record it is."""
    schedules, starts = len(run.setups), int(run.results.manifest["starts"])
    return (
        f"{run.results.name}: Cassandra {run.engine}, faults of {schedules} schedule{'s' * (schedules != 1)} "
        f"in {starts} cluster start{'s' * (starts != 1)}"
    )


def title_of(run: FaultRun, setup: str) -> str:
    """Say in a line what a schedule does and under which load."""
    faults = run.profile(setup).get("faults", {})
    load = ""
    if faults.get("rate_per_s"):
        load = f"; {faults['rate_per_s']:g} requests a second in all, {run.length_s(setup):g} s"
    elif faults.get("threads"):
        load = f"; {faults['threads']} clients of each setting that wait for each reply, {run.length_s(setup):g} s"
    return f"{setup}: {run.title(setup)}{load}"


def in_words(scheduled: ScheduledFault) -> str:
    """Say what is done to what, when and for how long.

    >>> in_words(ScheduledFault("pause", Fault("pause", (3,), at_s=45.0, for_s=1.5), times=5))
    'pause node 3, 5 times from 45 s, for 1.5 s each'
    >>> in_words(ScheduledFault("cut", Fault("cut", (2,), at_s=5, for_s=9, to=(1, "client"), way="in")))
    'cut node 2 from node 1 and client (in) at 5 s, for 9 s'
    >>> in_words(ScheduledFault("kill"))
    'kill, drawn at random'
    """
    if scheduled.first is None:
        return f"{scheduled.kind}, drawn at random"
    return _ordered(scheduled.first, scheduled.times)


def _ordered(fault: Fault, times: int) -> str:
    what = f"{fault.kind} {_hosts(fault.nodes)}"
    if fault.to:
        what += f" {'to' if fault.kind == 'slow' else 'from'} {_hosts(fault.to)}"
    more: list[str] = [fault.way] if fault.way != "both" else []
    more += [f"{ms:g} ms" for ms in (fault.delay_ms, fault.by_ms) if ms]
    what += f" ({', '.join(more)})" if more else ""
    lasts = f", for {fault.for_s:g} s" if fault.for_s else ""
    if times > 1:
        return f"{what}, {times} times from {fault.at_s:g} s{lasts} each"
    return f"{what} at {fault.at_s:g} s{lasts}"


def _hosts(hosts: Iterable[int | str]) -> str:
    """Nodes and perhaps the client, as 'nodes 1, 2 and 3'."""
    nodes, others = [str(h) for h in hosts if h != "client"], [str(h) for h in hosts if h == "client"]
    first = f"node{'s' * (len(nodes) > 1)} {nodes[0]}" if nodes else ""
    *rest, last = [part for part in (first, *nodes[1:], *others) if part]
    return f"{', '.join(rest)} and {last}" if rest else last


def sections(table: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield of each fault its schedule, the fault, who noticed it, all in words, and a table of words."""
    for _, own in table.groupby(list(FAULT), sort=False):
        row = own.iloc[0]
        fault = in_words(row["fault"])
        struck = f"{fault}; struck {row['times']} times" if row["times"] > 1 else fault
        yield str(row["schedule"]), struck, noticed(row), _shown(own)


def noticed(row: Any) -> str:
    """Say when the driver and the other nodes marked a node down, of a row of `summary`."""
    said = []
    for who in OBSERVERS:
        count, times = int(row[f"{who}_noticed"]), int(row["times"])
        if not count:
            said.append(f"not by {_WHO[who]}")
            continue
        of = f" ({count} of {times} times)" if count < times else ""
        said.append(f"by {_WHO[who]} after {row[f'{who}_down_s']:.1f} s{of}")
    return f"marked down {', '.join(said)}"


def _shown(own: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one fault in words."""
    words = [name for name in _WORDS if name in {"setting", "operation"} or len(own[name].unique()) > 1]
    rows = own.to_dict("records")
    table = own[[*words, "due", "unanswered"]].assign(**{"%": [_percent(row) for row in rows]})
    for number, phase in enumerate(PHASES):
        table[f"p99 {phase}" if number == 0 else phase] = own[f"p99_{phase}_ms"].astype(float)
    table[ENDED] = [_kinds(row) for row in rows]
    formats: dict[str, Format] = {
        **dict.fromkeys(table.columns, _ms), **dict.fromkeys((*words, "%", ENDED), ""),
        **dict.fromkeys(("due", "unanswered"), ","),
    }  # fmt: skip
    return formatted(table, formats, missing="-").reset_index(drop=True)


def _percent(row: dict[Any, Any]) -> str:
    """Percent not answered with its bounds: '0 (at most 0.10)', '66.4 [57.9, 74.1]'."""
    share = Estimate(row["share"], row["low"], row["high"]).times(_PERCENT)
    if not row["unanswered"]:
        return f"0 (at most {share.high:.2g})"
    if row["unanswered"] == row["due"]:
        return f"100 (at least {share.low:.4g})"
    digits = 1 if 1 <= share.value <= _PERCENT - 1 else 2
    least = 10.0**-digits
    text = f"{share:.{digits}f}".replace(f"[{0:.{digits}f},", f"[<{least:.{digits}f},")
    return text.replace(f" {_PERCENT:.{digits}f}]", f" >{_PERCENT - least:.{digits}f}]")


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= _PERCENT else f"{value:.1f}"


def _kinds(row: dict[Any, Any]) -> str:
    return ", ".join(f"{row[end]:,} {_KINDS[end]}" for end in UNANSWERED if row[end])


def kept(run: FaultRun, setups: Sequence[str] = ()) -> list[str]:
    """Say which settings had stale reads, or lost acknowledged writes, in each schedule; in all by default."""
    said = []
    for setup in setups or run.setups:
        rows = run.results.rows[run.results.rows["setup"] == setup]
        for column, operation, what in (("stale", "READ", "stale reads"), ("lost", "UPDATE", "lost writes")):
            sums = rows[rows["operation"] == operation].groupby("setting", sort=False)[[column, "n"]].sum()
            some = [f"{name} {row[column]:,} of {row['n']:,}" for name, row in sums.iterrows() if row[column]]
            said.append(f"{setup}: {what}: {'; '.join(some) or f'none of {sums.n.sum():,} {OPERATIONS[operation]}'}.")
    return said


def notes(run: FaultRun) -> list[str]:
    """Return what a reader of the tables must know, and what did not strike."""
    missed = [f"Not carried out before the load ended: {setup}: {in_words(fault)}." for setup, fault in not_struck(run)]
    return [*NOTES, *missed]


def as_text(run: FaultRun) -> str:
    """Return the summary for a terminal."""
    text, last = [heading(run)], ""
    for setup, fault, who, table in sections(summary(run)):
        if setup != last:
            text += ["", *wrapped([title_of(run, setup)])]
            last = setup
        text += ["", fault, f"  {who}", _columns(table)]
    return "\n".join([*text, "", *wrapped([*kept(run), *notes(run)])])


def _columns(table: pd.DataFrame) -> str:
    """Columns of text; how requests ended stands on lines of its own where it would not fit."""
    if not table[ENDED].any():
        table = table.drop(columns=ENDED)
    text = lines(table, (*_WORDS, ENDED))
    if max(map(len, text)) <= WIDTH or ENDED not in table:
        return "\n".join(text)
    first, *rows = lines(table.drop(columns=ENDED), _WORDS)
    apart = [first]
    for row, ended in zip(rows, table[ENDED], strict=True):
        apart += [row, *([f"    {ended}"] if ended else [])]
    return "\n".join(apart)


def as_markdown(run: FaultRun) -> str:
    """Return the summary as Markdown."""
    text, last = [f"# {heading(run)}"], ""
    for setup, fault, who, table in sections(summary(run)):
        if setup != last:
            text += ["", f"## {title_of(run, setup)}"]
            last = setup
        text += ["", f"### {fault}", "", f"{who[:1].upper()}{who[1:]}.", "", markdown(table)]
    return "\n".join([*text, "", *(f"* {note}" for note in (*kept(run), *notes(run)))])


def _named(run: FaultRun) -> pd.DataFrame:
    """Return `summary` with faults in words."""
    table = summary(run)
    return table.assign(fault=[in_words(fault) for fault in table["fault"]])


def as_json(run: FaultRun) -> str:
    """JSON: record, experiment, engine, schedules (name and title), faults (of `summary`, in words), kept, notes."""
    content = {
        "record": run.results.name, "experiment": run.results.manifest["experiment"], "engine": run.engine,
        "schedules": [{"name": setup, "title": run.title(setup)} for setup in run.setups],
        "faults": json.loads(_named(run).to_json(orient="records", double_precision=6)),
        "kept": kept(run), "notes": notes(run),
    }  # fmt: skip
    return json.dumps(content, indent=2)


def as_csv(run: FaultRun) -> str:
    """CSV of `summary`, faults in words, with the record's name in front."""
    return csv(_named(run), record=run.results.name)


FORMATS: dict[str, Callable[[FaultRun], str]] = {
    "text": as_text, "json": as_json, "csv": as_csv, "md": as_markdown,
}  # fmt: skip
