"""How good the 2020 paper's choices of a setting are, compared with other regressions and simpler policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from cassbook.claims.g20.source import SETTINGS, SHARES, MixKey, estimate, mixed_from_pure, table4, underlined, winners
from cassbook.claims.interval import Interval, exactly, middle, percent_above
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.latency.regression import MODEL_TITLES

#: Threads and share of reads (as printed) to a setting.
Policy: TypeAlias = Callable[[int, str], str]


def score(choose: Policy, threads: Sequence[int] | None = None) -> tuple[Interval, Count]:
    """Share in percent, and count, of workloads at which a policy names the underlined setting of Table V.

    `choose` turns threads and the share of reads (as printed) into a setting; `threads` are rows of the table, by
    default all.
    """
    right = [choose(n, share) == best for (n, share), best in underlined().items() if threads is None or n in threads]
    return exactly(100 * sum(right)) / len(right), Count(sum(right), len(right))


def least_of(latency: Callable[[MixKey], Interval]) -> Policy:
    """Policy that takes the setting of least latency by some estimate of it."""
    return lambda threads, share: min(SETTINGS, key=lambda s: middle(latency((threads, share, s))))


def _always(setting: str) -> Policy:
    return lambda _threads, _share: setting


def simple_policies() -> dict[str, tuple[str, Policy]]:
    """Policies simpler than regressions of order 4: name to what it does, and the policy."""
    fixed = {f"always-{s.lower()}": (f"always {s}", _always(s)) for s in SETTINGS}
    half = "0.5"
    return fixed | {
        "majority": (
            "1R-3W if at least half are reads, else 3R-1W",
            lambda _n, share: "1R-3W" if float(share) >= float(half) else "3R-1W",
        ),
        "ten-percent": (
            "3R-1W at 10 % reads, else 1R-3W",
            lambda _n, share: "3R-1W" if share == SHARES[0] else "1R-3W",
        ),
        "nearest-cell": ("the weighted mean of Tables I and II, no regression", least_of(mixed_from_pure)),
    }


@cells("g20")
def best_settings() -> Iterator[Cell]:
    """Each underlined setting of Table V, said to have measured fastest, against the least estimate of Table IV."""
    for (threads, share), best in underlined().items():
        statement = Statement(
            f"g20-best-{share}-{threads}",
            f"Tables IV and V, reads {share}, {threads} threads",
            "deviations for the measured minimum delays are underlined",
            best,
            kind="cell",
            rests_on=("g20-verification",),
        )
        yield statement, Answer(winners(share)[threads], note=_margin(threads, share))


def _margin(threads: int, share: str) -> str:
    """How far Table IV prefers its best setting to the next, where the two tables name different ones."""
    estimates = sorted(middle(table4()[threads, share, setting]) for setting in SETTINGS)
    if winners(share)[threads] == underlined()[threads, share]:
        return ""
    return f"Table IV sets the two fastest {100 * (estimates[1] / estimates[0] - 1):.2f} % apart."


@cells("g20")
def policies() -> Iterator[Cell]:
    """Share of underlined settings that simpler policies name, compared with the paper's 92 %."""
    for name, (words, choose) in simple_policies().items():
        share, count = score(choose)
        statement = Statement(
            f"g20-forensic-policy-{name}",
            "section VI.B",
            "the proposed methodology suggests optimal consistency settings in 92%",
            "below 92%",
            relation="below",
            kind="forensic",
        )
        note = f"Policy: {words}. Right in {count}."
        if name == "nearest-cell":
            note += " It must be right everywhere, since the underlined cells are the minima of just these means."
        yield statement, Answer(share, note=note)


def _by_order(order: int, leave_out: bool = False) -> Policy:
    """Policy by regressions of an order, each thread count left out of the fits that predict it or not."""
    return least_of(lambda key: estimate(key, order, key[0] if leave_out else None))


@cells("g20")
def orders() -> Iterator[Cell]:
    """Share of underlined settings that regressions of order 1 to 4 name, fitted with and without the point."""
    threads = sorted({n for n, _ in underlined()})
    for order, word in MODEL_TITLES.items():
        for out in (False, True):
            share, count = score(_by_order(order, out))
            _, inside = score(_by_order(order, out), threads[1:-1])
            how = "each thread count left out of the fits that predict it" if out else "fitted to all thread counts"
            statement = Statement(
                f"g20-forensic-{'leave-one-out' if out else 'in-sample'}-order{order}",
                "section VI.B",
                "the proposed methodology suggests optimal consistency settings in 92%",
                "92%",
                kind="forensic",
            )
            note = f"Regressions: {word}, {how}. Right in {count}; without the first and the last row {inside}."
            yield statement, Answer(share, note=note)


@claim(
    "g20-forensic-choices-convention",
    "section VI.B",
    "by matching the cells with the underlined values in Tables IV and V",
    "92%",
    kind="forensic",
)
def choices_by_convention() -> Answer:
    """Share of workloads at which minima of Table IV match Table V, and under other conventions."""
    plain, count = score(lambda threads, share: winners(share)[threads])
    pure = {key: mixed_from_pure(key) for key in table4()}
    lost = {
        (n, share): middle(percent_above(pure[n, share, winners(share)[n]], pure[n, share, best]))
        for (n, share), best in underlined().items()
    }
    first = min(n for n, _ in underlined())
    later = [winners(share)[n] == best for (n, share), best in underlined().items() if n != first]
    half_percent = Count(sum(loss <= 0.5 for loss in lost.values()), len(lost))  # noqa: PLR2004 - stated
    return Answer(
        plain,
        note=f"{count}. A choice within half a percent of the best counted as right: {half_percent}; without the row "
        f"of {first} threads: {Count(sum(later), len(later))}; regressions of order 2: {score(_by_order(2))[1]}. A "
        f"wrong choice costs {max(lost.values()):.1f} % at most, {np.mean(list(lost.values())):.2f} % on average.",
    )
