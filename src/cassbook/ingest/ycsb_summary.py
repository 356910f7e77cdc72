"""YCSB's summaries, as text (`[READ], AverageLatency(us), 812.5`) and as JSON of either of its exporters."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import BinaryIO

from cassbook.ingest.damage import Damage, Tally
from cassbook.ingest.summary import Figures, number_of, numbered
from cassbook.ingest.ycsb_lines import is_text

TEXT, JSON = "YCSB text summary", "YCSB JSON summary"
EXPECTED_TEXT = "`[OPERATION], statistic, number`, or a text of YCSB's"
EXPECTED_JSON = '{"metric": ..., "measurement": ..., "value": number}'
_LINE = re.compile(r"\[([^\]]+)\], (.+), (\S+)")
_UNIT = re.compile(r"(.+?)\(([^()]*)\)")
_PERCENTILE = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th)?PercentileLatency")
_SUMMED = re.compile(r"p(\d+(?:\.\d+)?)")
_NAMES = {
    "AverageLatency": "mean", "MinLatency": "min", "MaxLatency": "max", "Average": "mean", "Min": "min", "Max": "max",
    "Operations": "operations", "Total Operations": "operations", "Throughput": "throughput", "RunTime": "run time",
}  # fmt: skip
_UNITS = {"ops/sec": "1/s", "%": "%"}
#: The raw measurement announces its summary with a figure that is none.
_NO_FIGURE = "Below is a summary of latency"
#: A place in a time series or a bucket of a histogram, in milliseconds.
_PLACE = re.compile(r">?\d{1,15}", re.ASCII)
_MS_S = 1000


def read_text(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a text summary.

    Raises
    ------
    InputError
        At a damaged line, unless they are skipped.
    """
    return _figures(tally, TEXT, _text_entries(stream, tally))


def read_json(stream: BinaryIO, tally: Tally) -> Figures:
    """Read a JSON summary: an array of objects, or objects one after the other.

    Raises
    ------
    InputError
        At a damaged object, with the line that it is in, unless they are skipped.
    """
    return _figures(tally, JSON, _json_entries(stream.read().decode("utf-8", "replace"), tally))


def _text_entries(stream: BinaryIO, tally: Tally) -> Iterator[tuple[str, str, float]]:
    for number, line in numbered(stream):
        parts = _LINE.fullmatch(line.decode("utf-8", "replace"))
        value = number_of(parts[3]) if parts else None
        if parts and value is not None:
            yield parts[1], parts[2], value
        elif parts or line.startswith(b"[") or (line.strip() and not is_text(line)):
            tally.add(Damage(number, line))


def _json_entries(text: str, tally: Tally) -> Iterator[tuple[str, str, float]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    line_ends = [i for i, char in enumerate(text) if char == "\n"] if tally.skip else []
    while at >= 0:
        try:
            entry, end = decoder.raw_decode(text, at)
            yield _entry(entry)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            bad = min(error.pos if isinstance(error, json.JSONDecodeError) else at, len(text) - 1)
            begin, behind = text.rfind("\n", 0, bad) + 1, text.find("\n", bad)
            line = bisect_left(line_ends, bad) if line_ends else text.count("\n", 0, bad)
            tally.add(Damage(line + 1, text[begin : behind if behind >= 0 else None].encode()))
            end = at + 1
        at = text.find("{", end)


def _entry(entry: dict[str, object]) -> tuple[str, str, float]:
    """Return metric, measurement and value of an object; raises what a damaged one does."""
    tag, name, value = entry["metric"], entry["measurement"], entry["value"]
    if not isinstance(tag, str) or not isinstance(name, str) or not isinstance(value, int | float | str):
        raise TypeError
    for text in (tag, name):
        text.encode()  # JSON may hold half of a character
    number = number_of(value) if isinstance(value, str) else float(value)
    if number is None:
        raise ValueError
    return tag, name, number


def _figures(tally: Tally, form: str, entries: Iterator[tuple[str, str, float]]) -> Figures:
    measurements = list(entries)
    # A time series and a histogram's buckets look alike; only the measurements with quantiles have buckets.
    with_quantiles = {tag for tag, name, _ in measurements if "Percentile" in name}
    figures = Figures(tally, form)
    for tag, name, value in measurements:
        if name.startswith(_NO_FIGURE):
            continue
        if _PLACE.fullmatch(name):
            if tag in with_quantiles:
                figures.add(tag, f"operations in bucket {name}", value, "operations")
            else:
                figures.add(tag, "mean", value, "us", at_s=int(name.lstrip(">")) / _MS_S)
            continue
        figures.add(tag, *_named(name, value))
    return figures


def _named(name: str, value: float) -> tuple[str, float, str]:
    """Statistic, value and unit under the names that all tools share."""
    if name.startswith("Return="):
        return f"return {name.removeprefix('Return=')}", value, "operations"
    parts = _UNIT.fullmatch(name)
    bare, unit = (parts[1], parts[2]) if parts else (name, "")
    percentile = _PERCENTILE.fullmatch(bare) or _SUMMED.fullmatch(bare)
    statistic = f"p{percentile[1]}" if percentile else _NAMES.get(bare, bare)
    if not unit:
        unit = "operations" if statistic == "operations" else "us" if bare in _NAMES or percentile else ""
    return statistic, value, _UNITS.get(unit, unit)
