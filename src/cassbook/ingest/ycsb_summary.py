"""YCSB's summaries, as text (`[READ], AverageLatency(us), 812.5`) and as JSON of either of its exporters."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from cassbook.core.schema import OUTCOMES
from cassbook.core.units import MS_PER_S, US_PER_MS
from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import Figure, Figures, number_of, numbered
from cassbook.ingest.ycsb_lines import kind
from cassbook.ingest.ycsb_raw import second_test
from cassbook.ingest.ycsb_texts import is_text

TEXT, JSON = "YCSB text summary", "YCSB JSON summary"
EXPECTED_TEXT = "`[OPERATION], statistic, number`, or a text of YCSB's or of a console"
EXPECTED_JSON = '{"metric": ..., "measurement": ..., "value": number}'
_LINE = re.compile(r"\[([^\]]+)\], ([^,]+), (\S+)")
_UNIT = re.compile(r"(.+?)\(([^()]*)\)")
_PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th)?PercentileLatency")
_SUMMED = re.compile(r"p(\d+(?:\.\d+)?)")
_NAMES = {
    "AverageLatency": "mean", "MinLatency": "min", "MaxLatency": "max", "Average": "mean", "Min": "min", "Max": "max",
    "Operations": "operations", "Total Operations": "operations", "Throughput": "throughput", "RunTime": "run time",
}  # fmt: skip
_LATENCIES = frozenset({"mean", "min", "max"})
_US = {"ns": 1e-3, "us": 1.0, "\u00b5s": 1.0, "\u03bcs": 1.0, "ms": 1e3, "s": 1e6, "sec": 1e6}
_PER_S = ("ops/sec", "ops/s")
_UNITS = {"%": "%"}
#: What is more than may be between JSON's objects.
_NO_GAP = re.compile(r"[^\s\[\],\ufeff]")
#: The raw measurement announces its summary, and its unit, with a figure that is none.
_NO_FIGURE, _SAYS_US = "Below is a summary of latency", "in microseconds"
#: A place in a time series or a bucket of a histogram, in milliseconds.
_PLACE = re.compile(r">?\d{1,15}", re.ASCII)
#: What YCSB counts in whole numbers. With a point before three digits such a one may be a thousand times as large.
_WHOLE = re.compile(
    r"(?:Total )?Operations|Return=.*|Count|RunTime\(.*|(?:Min|Max)(?:Latency\(.*)?|.*PercentileLatency\(.*|p[\d.]+"
)
_IN_THOUSANDS = re.compile(r"\d{1,3}\.\d{3}", re.ASCII)
_OBJECT = re.compile(r'\{\s*"metric"')
#: Longest line of JSON that is quoted from its beginning.
_LONG = 80
#: YCSB counts operations in 32 bits.
_OVERFLOWS = 2**31
#: Factor between the printed throughput and that of operations and run time from which one of them is wrong.
_FAR = 10
_NO_MINIMUM = 2**63 - 1


class _Entry(NamedTuple):
    """A row of a summary; `byte`, from 1, is where it begins in a line of JSON that has other objects before it."""

    tag: str
    name: str
    value: float
    line: int
    byte: int = 0


def read_text(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a text summary.

    Raise InputError at a damaged line, unless they are skipped; at the line where a second test begins.
    """
    return _figures(tally, TEXT, _text_entries(stream, tally))


def read_json(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a JSON summary: an array of objects, or objects one after the other.

    Raise InputError at a damaged object, with the line that it is in, unless they are skipped; at the line where a
    second test begins.
    """
    return _figures(tally, JSON, _json_entries(stream.read().decode("utf-8", "replace"), tally))


def _text_entries(stream: BinaryIO, tally: Tally) -> Iterator[_Entry]:
    for number, raw in numbered(stream):
        line = raw.removeprefix(codecs.BOM_UTF8)  # files with a mark, put one behind the other
        parts = _LINE.fullmatch(line.decode("utf-8", "replace"))
        value = number_of(parts[3]) if parts else None
        if parts and value is not None and not (_IN_THOUSANDS.fullmatch(parts[3]) and _WHOLE.fullmatch(parts[2])):
            yield _Entry(parts[1], parts[2], value, number)
        elif parts is None and is_text(line):
            tally.texts += 1
        elif line.strip():
            tally.add(Damage(number, raw))


def _json_entries(text: str, tally: Tally) -> Iterator[_Entry]:
    decoder = json.JSONDecoder()
    line_ends = [i for i, char in enumerate(text) if char == "\n"]
    end, counted, n_bytes = 0, 0, 0
    while found := _NO_GAP.search(text, end):
        at, behind = found.start(), end
        number = bisect_left(line_ends, at) + 1
        if text[at] != "{":
            begin, end = max(text.rfind("\n", 0, at) + 1, end), (text.find("\n", at) + 1) or len(text)
            line = text[begin:end].strip("\r\n\ufeff")
            if is_text(line.encode()):
                tally.texts += 1
                continue
            following = _OBJECT.search(text, at, end)
            end = following.start() if following else end
            tally.add(Damage(number, _around(text, begin, at, end).encode()))
            continue
        try:
            entry, end = decoder.raw_decode(text, at)
            gap = text[max(behind - 1, 0) : at]
            first = at - len(gap) + gap.rfind("[") if gap.rfind("[") > gap.rfind("\n") else at
            n_bytes, counted = n_bytes + len(text[counted:first].encode()), first
            alone = not behind or "\n" in gap
            yield _entry(entry, number, 0 if alone else n_bytes + 1)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            bad = min(error.pos if isinstance(error, json.JSONDecodeError) else at, len(text) - 1)
            line_end = text.find("\n", bad)
            begin = text.rfind("\n", 0, bad) + 1
            quoted = _around(text, begin, max(at, begin), line_end if line_end >= 0 else len(text), bad)
            tally.add(Damage(bisect_left(line_ends, bad) + 1, quoted.encode()))
            following_object = text.find("{", at + 1)
            end = following_object if following_object >= 0 else len(text)


def _around(text: str, begin: int, at: int, end: int, bad: int = 0) -> str:
    """Return a line of JSON, from `begin` to `end`; of a long one, what is around the damage."""
    if end - begin <= _LONG:
        return text[begin:end].strip("\r\n\ufeff")
    at = max(at, bad - _LONG // 2)
    return f"{'... ' if at > begin else ''}{text[at:end]}".strip("\r\n\ufeff")


def _entry(entry: dict[str, object], line: int, byte: int) -> _Entry:
    """Return metric, measurement and value of an object; raises what a damaged one does."""
    tag, name, value = entry["metric"], entry["measurement"], entry["value"]
    if not isinstance(tag, str) or not isinstance(name, str) or not isinstance(value, int | float | str):
        raise TypeError
    for text in (tag, name):
        text.encode()  # JSON may hold half of a character
    number = number_of(value) if isinstance(value, str) else float(value)
    if number is None:
        raise ValueError
    return _Entry(tag, name, number, line, byte)


def _figures(tally: Tally, form: str, entries: Iterator[_Entry]) -> Figures:
    measurements = list(entries)
    _check_one_test(tally, measurements)
    # A time series and a histogram's buckets look alike; only the measurements with quantiles have buckets.
    with_quantiles = {entry.tag for entry in measurements if "Percentile" in entry.name}
    figures = Figures(tally, form)
    units = _Units()
    for entry in measurements:
        tag, name, value, line, _ = entry
        if name.startswith(_NO_FIGURE):
            units.said |= {tag} if _SAYS_US in name else set()
        elif not _PLACE.fullmatch(name):
            figures.add(tag, *units.named(entry), line=line)
        elif tag in with_quantiles:
            figures.add(tag, f"operations in bucket {name}", value, "operations", line=line)
        else:
            figures.add(tag, "mean", value, "us", at_s=int(name.lstrip(">")) / MS_PER_S, line=line)
    figures.notes += units.notes()
    without_idle(figures)
    figures.notes += _impossible_throughput(figures)
    return figures


def _check_one_test(tally: Tally, entries: list[_Entry]) -> None:
    """Raise InputError where a measurement comes a second time; the places of a histogram's end may."""
    seen: dict[tuple[str, str], _Entry] = {}
    for entry in entries:
        before = seen.setdefault((entry.tag, entry.name), entry)
        if before is not entry and not _PLACE.fullmatch(entry.name):
            what = f"[{entry.tag}], {entry.name}"
            raise second_test(tally.path, entry.line, f"{what!r} is in line {before.line} already", entry.byte)


class _Units:
    """What the units of a summary's rows are, and what is to be said of them."""

    def __init__(self) -> None:
        #: Measurements that say microseconds in front.
        self.said: set[str] = set()
        self._assumed: list[int] = []
        self._converted: dict[str, int] = {}
        self._unknown: dict[str, int] = {}

    def named(self, entry: _Entry) -> tuple[str, float, str]:
        """Statistic, value and unit under the names that all tools share; under its own, where the unit is unknown."""
        name, value = entry.name, entry.value
        if name.startswith("Return="):
            return f"return {name.removeprefix('Return=')}", value, "operations"
        parts = _UNIT.fullmatch(name)
        bare, unit = (parts[1], parts[2]) if parts else (name, "")
        percentile = _PERCENTILE.fullmatch(bare) or _SUMMED.fullmatch(bare)
        statistic = f"p{percentile[1]}" if percentile else _NAMES.get(bare, bare)
        if statistic in _LATENCIES or percentile:
            return self._latency(entry, statistic, unit)
        if statistic in ("run time", "throughput"):
            return self._of_test(entry, statistic, unit)
        return statistic, value, "operations" if statistic == "operations" else _UNITS.get(unit, unit)

    def _of_test(self, entry: _Entry, statistic: str, unit: str) -> tuple[str, float, str]:
        if statistic == "throughput" and unit in _PER_S:
            return statistic, entry.value, "1/s"
        if statistic == "run time" and unit in _US:
            return statistic, entry.value if unit == "ms" else entry.value * _US[unit] / US_PER_MS, "ms"
        self._unknown.setdefault(entry.name, entry.line)
        return entry.name, entry.value, unit

    def _latency(self, entry: _Entry, statistic: str, unit: str) -> tuple[str, float, str]:
        if not unit:
            if entry.tag not in self.said:
                self._assumed.append(entry.line)
            return statistic, entry.value, "us"
        if unit not in _US:
            self._unknown.setdefault(entry.name, entry.line)
            return entry.name, entry.value, unit
        if _US[unit] != 1:
            self._converted.setdefault(entry.name, entry.line)
        return statistic, entry.value * _US[unit], "us"

    def notes(self) -> list[str]:
        """What is to be said."""
        said = [f"line {line}: {name} is kept in microseconds" for name, line in self._converted.items()]
        said += [
            f"line {line}: {name!r} has no unit that is known (of latencies: ns, us, ms, s; of throughput: ops/sec), "
            "so it stays under that name"
            for name, line in self._unknown.items()
        ]
        if self._assumed:
            rows = f"{len(self._assumed)} latencies say" if len(self._assumed) > 1 else "a latency says"
            said.append(f"line {self._assumed[0]}: {rows} no unit; microseconds are assumed, in which YCSB counts")
        return said


def without_idle(figures: Figures) -> None:
    """Leave out latencies of no operation, which are printed as 0, NaN or the largest number there is; note it."""
    whole = [row for row in figures.rows if row.at_s is None]
    counted = {row.tag: row.value for row in whole if row.statistic == "operations"}
    idle = {tag for tag, n in counted.items() if n == 0}
    idle |= {row.tag for row in whole if row.tag not in counted and row.statistic == "min" and row.value >= _NO_MINIMUM}
    left_out = [row for row in whole if row.tag in idle and row.unit == "us"]
    if not left_out:
        return
    figures.rows = [row for row in figures.rows if row not in left_out]
    for tag in dict.fromkeys(row.tag for row in left_out):
        line = next(row.line for row in left_out if row.tag == tag)
        what = f"no {tag} was counted" if _failures(tag) else f"no {tag} succeeded"
        figures.notes.append(f"{what}; the latencies printed for it all the same (line {line}) are left out")


def _failures(tag: str) -> bool:
    """Whether a tag is of operations that failed."""
    named = kind(tag)
    return named is not None and named.operation >= 0 and OUTCOMES[named.outcome] != "ok"


def _impossible_throughput(figures: Figures) -> list[str]:
    """Return what is to be said of a printed throughput that operations and run time refute."""
    whole: dict[tuple[str, str], Figure] = {(row.tag, row.statistic): row for row in figures.rows if row.at_s is None}
    printed, run_time = whole.get(("OVERALL", "throughput")), whole.get(("OVERALL", "run time"))
    counts = {
        tag: row.value for (tag, statistic), row in whole.items()
        if statistic == "operations" and tag not in ("CLEANUP", "VERIFY") and not tag.startswith(("Intended-", "Raw"))
    }  # fmt: skip
    operations, succeeded = sum(counts.values()), sum(n for tag, n in counts.items() if not _failures(tag))
    if printed is None or run_time is None or not run_time.value > 0 or not 0 < operations < float("inf"):
        return []
    per_s, least_per_s = operations / run_time.value * MS_PER_S, succeeded / run_time.value * MS_PER_S
    if operations < _OVERFLOWS:
        if least_per_s / _FAR <= printed.value <= per_s * _FAR:
            return []
        why = "one of the three is wrong"
    elif 1 / 2 < printed.value / per_s < 2:  # noqa: PLR2004 - YCSB counts a read-modify-write once
        return []
    else:
        why = f"YCSB counts operations in 32 bits, which overflow at {_OVERFLOWS:,}"
    return [
        f"line {printed.line}: a throughput of {printed.value:,.2f}/s is printed, but operations and run time give "
        f"{per_s:,.2f}/s: {why}"
    ]
