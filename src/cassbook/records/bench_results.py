"""What was measured of the generator itself, as the book shows it: recorded in `data/bench`, by `make bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from cassbook.core.consistency import LEVELS
from cassbook.core.errors import InputError
from cassbook.core.estimate import Estimate
from cassbook.core.paths import project_root

#: What pairs are compared at.
POINT = ["operation", "level", "threads"]


def _recorded(name: str) -> Path:
    path = project_root() / "data" / "bench" / name
    if not path.is_file():
        raise InputError(f"{path}: is missing; `make bench` makes one in _build/bench")
    return path


def pairs() -> pd.DataFrame:
    """Every pair of our generator and cassandra-stress, columns as `bench.generator` writes them."""
    return pd.read_csv(_recorded("generator.csv"))


def ratios(pairs: pd.DataFrame) -> pd.DataFrame:
    """Ratio of throughputs by point: geometric mean over pairs with its 95 % interval (Student's t on logarithms).

    One row per (operation, level, threads): ratio, low, high, ours_per_s, stress_per_s, ours_cpu_us_per_op,
    stress_cpu_us_per_op (medians), pairs.
    """
    rows = []
    for key, group in pairs.groupby(POINT, sort=False):
        ratio = Estimate.ratio(group["ours_per_s"] / group["stress_per_s"])
        medians = group[["ours_per_s", "stress_per_s", "ours_cpu_us_per_op", "stress_cpu_us_per_op"]].median()
        bounds = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
        rows.append(
            dict(zip(("operation", "level", "threads"), key, strict=True)) | bounds | dict(medians) | {"pairs": ratio.n}
        )
    table = pd.DataFrame(rows)
    places = table["level"].map(LEVELS.index)
    return (
        table.assign(place=places)
        .sort_values(["operation", "place", "threads"], ignore_index=True)
        .drop(columns="place")
    )


def throughput_ratios() -> pd.DataFrame:
    """Ratios of throughput by point, with intervals (see `ratios`)."""
    return ratios(pairs())


def conditions() -> dict[str, Any]:
    """Engine, date and machine of the comparison."""
    return dict(json.loads(_recorded("generator.json").read_text()))


def adviser() -> pd.DataFrame:
    """What the adviser adds to a request, us: index operation; median, least and most over rounds."""
    added = pd.read_csv(_recorded("adviser.csv")).groupby("operation")["added_us"]
    return pd.DataFrame({"median": added.median(), "least": added.min(), "most": added.max()})


def own_error() -> pd.DataFrame:
    """The generator's own error by the stub's delay and the threads, in whole microseconds (see `bench.own_error`)."""
    table = pd.read_csv(_recorded("own-error.csv")).set_index(["delay_ms", "threads"])
    return table.rename(columns=lambda name: name.removesuffix("_us").replace("_", " ")).round().astype(int)


def relay_added_ms() -> pd.Series:
    """What the relay adds to a round trip without delay, ms: one value per round (see `bench.relay.added`)."""
    return pd.read_csv(_recorded("relay-added.csv"))["added_ms"]


def relay_accuracy() -> pd.DataFrame:
    """Round trips asked for and found (see `bench.relay.accuracy`): asked_ms, median_ms, p95_ms, p99_ms and kept."""
    return pd.read_csv(_recorded("relay-accuracy.csv"))[["asked_ms", "median_ms", "p95_ms", "p99_ms", "kept"]]


def relay_ceiling() -> pd.DataFrame:
    """Highest rate of which a go was as asked (what else goes on in the machine spoils others): index bytes of a chunk.

    Columns: chunks/s and MB/s that the relay passed on.
    """
    table = pd.read_csv(_recorded("relay-ceiling.csv"))
    best = table[table["kept"]].sort_values("chunks_per_s").groupby("size").tail(1).set_index("size").sort_index()
    shown = pd.DataFrame({"chunks/s": best["chunks_per_s"], "MB/s": best["bytes_per_s"] / 1e6})
    return shown.round().astype(int).rename_axis("bytes")
