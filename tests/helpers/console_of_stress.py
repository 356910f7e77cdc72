"""What cassandra-stress prints of known figures, as Java formats numbers in a locale and as its releases differ."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cassbook.ingest import stress
from cassbook.ingest.damage import Tally

#: Decimal sign and thousands separator of Java's locales.
LOCALES = {
    "en": (".", ","), "de": (",", "."), "fr": (",", "\u202f"), "fr, Java 8": (",", "\u00a0"), "de-CH": (".", "\u2019"),
    "it-CH, Java 8": (".", "'"), "fr, copied": (",", " "), "fr, in ASCII": (",", "?"),
}  # fmt: skip
RELEASES = ("2.1", "3.11", "4.0", "scylla")
LATENCIES = ("mean", "p50", "p95", "p99", "p99.9", "max")
_NAMES = dict(
    zip(
        LATENCIES,
        ("mean", "median", "95th percentile", "99th percentile", "99.9th percentile", "max"),
        strict=True,
    )
)
_RATES, _TIMES, _GC = (
    ("op/s", "pk/s", "row/s"),
    ("mean", "med", ".95", ".99", ".999", "max"),
    ("max ms", "sum ms", "sdv ms"),
)
HEADINGS = ("total ops", *_RATES, *_TIMES, "time", "stderr", "errors", "gc: #", *_GC, "mb")


@dataclass(frozen=True)
class Numbers:
    """Java's `String.format` for one locale."""

    decimal: str = "."
    group: str = ","

    def __call__(self, value: float, places: int = 0, *, grouped: bool = True) -> str:
        text = f"{value:,.{places}f}" if grouped else f"{value:.{places}f}"
        return text.translate(str.maketrans({",": self.group, ".": self.decimal}))


@dataclass(frozen=True)
class Measured:
    """What one operation did in a test: latencies in tenths of a millisecond, by `LATENCIES`."""

    rate: int
    tenths: tuple[int, ...]
    partitions: int
    errors: int = 0


def row(tag: str, seconds: float, one: Measured, say: Numbers) -> str:
    """Return the line of an interval."""
    plain = [say(one.partitions, grouped=False), *[say(one.rate, grouped=False)] * 3]
    plain += [say(tenths / 10, 1, grouped=False) for tenths in one.tenths]
    plain += [say(seconds, 1, grouped=False), say(0.01234, 5, grouped=False), say(one.errors, grouped=False)]
    return f"{tag + ',':<10}" + ",".join(f"{text:>8}" for text in [*plain, *[say(0, grouped=False)] * 5])


def heading(release: str) -> str:
    """Return the line of headings."""
    return ("type,     " if release == "2.1" else "type      ") + ",".join(f"{name:>8}" for name in HEADINGS)


def results(by_tag: dict[str, Measured], total: Measured, seconds: int, say: Numbers, release: str) -> list[str]:
    """Return the results of one test."""
    old = release == "2.1"

    def line(name: str, values: dict[str, float], places: int, unit: str) -> str:
        ends = "" if old or not unit else f" {unit}"
        glue = ":" if old else ": "
        of_each = ", ".join(f"{tag}{glue}{say(values[tag], places, grouped=not old)}{ends}" for tag in by_tag)
        # Up to 4.x a latency of the total is not grouped, those of the operations are.
        whole = say(values["total"], places, grouped=not old and (places == 0 or release == "scylla"))
        return f"{name.lower() if old and not name.startswith('Total') else name:<26}: {whole:>8}{ends} [{of_each}]"

    each = by_tag | {"total": total}
    rates: dict[str, float] = {tag: one.rate for tag, one in each.items()}
    lines = ["", "", "Results:", line("Op rate", rates, 0, "op/s")]
    for place, statistic in enumerate(LATENCIES):
        shown = {tag: one.tenths[place] / 10 for tag, one in each.items()}
        lines.append(line(f"Latency {_NAMES[statistic]}", shown, 1, "ms"))
    lines.append(line("Total partitions", {tag: one.partitions for tag, one in each.items()}, 0, ""))
    lines.append(line("Total errors", {tag: one.errors for tag, one in each.items()}, 0, ""))
    if not old:
        lines += [f"{'Total GC memory':<26}: {say(1.234, 3)} GiB", f"{'Avg GC time':<26}: {'NaN':>6} ms"]
    return [*lines, f"{'Total operation time':<26}: 00:{seconds // 60:02}:{seconds % 60:02}", ""]


def log(tests: Sequence[tuple[int, dict[str, Measured], Measured]], say: Numbers, release: str) -> list[str]:
    """Return the lines of a process: one test, or a series of thread counts."""
    lines = ["Connected to cluster: Test Cluster", "Sleeping 2s..."]
    for threads, by_tag, total in tests:
        lines += [f"Running with {threads} threadCount"] if len(tests) > 1 else []
        lines += [f"Running [{', '.join(by_tag)}] with {threads} threads for 1000 iteration", heading(release)]
        for second in (1, 2):
            lines += [row(tag, second, one, say) for tag, one in [*by_tag.items(), ("total", total)]]
        lines += results(by_tag, total, 2, say, release)
    if len(tests) > 1:
        lines.append("           id, " + heading(release))
        lines += [f"{threads} threadCount, " + row("total", 2, total, say) for threads, _, total in tests]
    return [*lines, "END"]


def read_stress(lines, *, skip=False):
    """Read a console log of these lines, whose name is x.log."""
    content = "\n".join(lines).encode() + b"\n"
    return stress.read(io.BytesIO(content), Tally(Path("x.log"), skip, stress.EXPECTED))
