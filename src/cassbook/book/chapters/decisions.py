"""The chapter on decisions: how often each way of choosing breaks a limit, does not know, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cassbook.advisor import replay
from cassbook.advisor.replay import DECIDE, FASTEST, FIXED, RULE, Service
from cassbook.book import palette
from cassbook.book.figure_style import done, panels
from cassbook.core.errors import LackingError
from cassbook.core.proportion import share_text
from cassbook.core.units import PERCENT
from cassbook.latency.verdicts import ZONE
from cassbook.records import manifest
from cassbook.records.run import RecordedRun
from cassbook.shown.tables import Format, titled

#: Rounds of turns that a decision may take, and how often each question is asked of each service.
ROUNDS, TIMES = 24, 2
_BEYOND = f"by more than {ZONE} times, %"


def recorded(*versions: str) -> list[RecordedRun]:
    """Return the recorded runs of services on some versions of Cassandra, by name."""
    names = [name for name, notes in manifest.recorded() if name.startswith("service-") and notes["engine"] in versions]
    if not names:
        raise LackingError(f"there is no record of a service (service-*) on {' or '.join(versions)}")
    return [RecordedRun(name) for name in names]


def services(runs: Sequence[RecordedRun]) -> list[Service]:
    """Return a service for each cluster start of some runs."""
    return [one for run in runs for one in replay.services(run)]


def answers(found: Sequence[Service], rounds: int = ROUNDS, times: int = TIMES, seed: int = 1) -> pd.DataFrame:
    """Ask every policy each question about each service (`replay.compare`)."""
    return replay.compare(found, rounds, times, seed)


def policies_shown(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how each policy did (`replay.summary`) in words: percent of its answers, and minutes."""
    table = replay.summary(answered)
    table = table.assign(regret=table["regret"].map(lambda regret: regret.times(PERCENT)))
    columns: dict[str, tuple[str, Format]] = {
        "broken": ("breaks a limit, %", share_text), "beyond": (_BEYOND, share_text),
        "unknown": ("does not know, %", share_text),
        "missed": ("finds none though one clearly meets all, %", share_text),
        "regret": ("slower than the best, %", ".1f"), "minutes": ("minutes", ".1f"),
    }  # fmt: skip
    return titled(table, columns)


def by_service(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how decisions did service by service.

    Index service (of all its cluster starts). Columns asked, minutes (median) and those of
    `replay.SHARES` (Proportions; cluster starts are the groups).
    """
    rows = {
        service: {"asked": len(own), "minutes": own["minutes"].median()} | replay.counted(own, "start")
        for service, own in answered[answered["policy"] == DECIDE].groupby("service", sort=False)
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("service")


def by_service_shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return `by_service` in words."""
    return titled(table, {
        "asked": ("decisions", ","), "broken": ("breaks a limit, %", share_text),
        "beyond": (_BEYOND, share_text), "unknown": ("does not know, %", share_text),
        "minutes": ("minutes, median", ".1f"),
    })  # fmt: skip


def wrong_and_slow(answered: pd.DataFrame) -> Figure:
    """Draw how often each policy breaks a limit, over how long it takes."""
    table = replay.summary(answered)
    figure, ((panel,),) = panels(1, 1, width=6.4, height=3.6)
    for place, (name, row) in enumerate(table.iterrows()):
        wrong, colour = row["broken"], palette.SERIES[place % len(palette.SERIES)]
        away = PERCENT * np.array([[wrong.value - wrong.low], [wrong.high - wrong.value]])
        bars = None if np.isnan(wrong.low) else away
        panel.errorbar(
            row["minutes"].value, PERCENT * wrong.value, bars, fmt="o", color=colour, capsize=2, label=str(name)
        )
    panel.set(xlabel="minutes of measuring", ylabel="breaks a limit, % of its answers")
    panel.legend()
    return done(figure)


def quoted(answered: pd.DataFrame) -> dict[str, str]:
    """Return what the prose quotes: of decisions, and of those who do not measure or have no intervals."""
    table = replay.summary(answered).to_dict("index")

    short = {"decide": DECIDE, "fixed": FIXED, "rule": RULE, "papers": FASTEST}
    found = {f"{key}_broken": share_text(table[policy]["broken"]) for key, policy in short.items() if policy in table}
    asked = answered[answered["policy"] == DECIDE]
    return found | {
        **{f"decide_{name}": share_text(table[DECIDE][name]) for name in ("beyond", "unknown")},
        "decide_regret": f"{table[DECIDE]['regret'].times(PERCENT):.1f}",
        "decide_minutes": f"{table[DECIDE]['minutes'].value:.0f}",
        "decisions": f"{len(asked):,}", "services": f"{asked['service'].nunique()}",
    }  # fmt: skip
