"""How far the 2020 paper's equations and regressions are from its own points: as printed, left out, and by order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy.stats import norm
from statsmodels.tools.eval_measures import aicc

from cassbook.claims.g20.choices import least_of, score
from cassbook.claims.g20.derived import RESIDUAL, printed_deviation, residual_percent
from cassbook.claims.g20.equations import by_equations, polynomial
from cassbook.claims.g20.source import (
    COLUMNS,
    Column,
    MixKey,
    benchmarks,
    estimate,
    fitted,
    mixed_from_pure,
    table,
    table4,
)
from cassbook.claims.interval import Interval, largest, magnitude, mean, middle, overlap, percent_above
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement
from cassbook.latency.regression import MODEL_NAMES, MODEL_TITLES

#: How near a curve should come to the points it is drawn through, percent.
_NEAR_PERCENT, _FAR_PERCENT = 1.0, 10.0


@claim(
    "g20-forensic-choices-equations",
    "section V, equations (2) to (10)",
    "Identifying the optimal consistency settings by using functions (8)-(10)",
    "92%",
    kind="forensic",
)
def choices_by_equations() -> Answer:
    """Share of workloads at which the printed equations name the underlined setting of Table V."""
    share, count = score(least_of(lambda key: by_equations(key, rounded=False)))
    _, mended = score(least_of(lambda key: by_equations(key, rounded=False, sign_mended=True)))
    return Answer(
        share,
        note=f"{count} with the coefficients as printed, {mended} with the sign of equation (3) mended: they have too "
        "few digits to choose by.",
    )


@cells("g20")
def equation_errors() -> Iterator[Cell]:
    """How far each printed equation is from the least squares fit of its column, over the twelve thread counts."""
    texts = table("g20_equations", ("equation", "operation", "level", "power"), "coefficient")
    for equation, operation, level in dict.fromkeys(key[:3] for key in texts):
        column: Column = (operation, level)
        threads = benchmarks().threads()
        off = {n: middle(percent_above(polynomial(column, n, False), fitted(column, n))) for n in threads}
        worst = max(off, key=lambda n: abs(off[n]))
        statement = Statement(
            f"g20-forensic-equation{equation}-error",
            f"equation ({equation}), {operation.lower()} {level}",
            f"y {level} {operation.capitalize()} (x)",
            "",
            kind="forensic",
            asked=f"within {_NEAR_PERCENT:.0f}% of the fit at all {len(threads)} thread counts",
        )
        near = Count(sum(abs(percent) <= _NEAR_PERCENT for percent in off.values()), len(off))
        mean_off = np.mean([abs(percent) for percent in off.values()])
        yield (
            statement,
            Answer(near, note=f"Off by {mean_off:.1f} % on average, {off[worst]:+.1f} % at {worst} threads."),
        )


@cells("g20")
def unseen_errors() -> Iterator[Cell]:
    """Largest error of mixes at a thread count that was left out of the fits, by order, against the claimed bound."""
    for order, word in MODEL_TITLES.items():
        off = {key: magnitude(percent_above(estimate(key, order, key[0]), mixed_from_pure(key))) for key in table4()}
        worst = max(off, key=lambda key: middle(off[key]))
        statement = Statement(
            f"g20-forensic-unseen-order{order}",
            "section VI.B",
            "A deviation never exceeds 17%",
            "17%",
            relation="below",
            kind="forensic",
        )
        yield (
            statement,
            Answer(
                largest(off.values()),
                note=f"Regressions: {word}, each thread count left out of the fits that predict it. The mean is "
                f"{middle(mean(off.values())):.2f} %; the worst at {worst[0]} threads, {worst[2]}.",
            ),
        )


def best_order(column: Column) -> int:
    """Order of the polynomial of a column that AICc prefers."""
    threads = benchmarks().threads()
    points = np.array([middle(benchmarks().latency_us[column][n]) for n in threads])
    scores = {}
    for order in MODEL_TITLES:
        residuals = points - np.array([middle(fitted(column, n, order)) for n in threads])
        spread = np.sqrt((residuals**2).mean())
        scores[order] = float(aicc(norm.logpdf(residuals, scale=spread).sum(), points.size, order + 2))
    return min(scores, key=lambda order: scores[order])


@claim(
    "g20-forensic-order-aicc",
    "section IV.B, Table III",
    "the polynomial regression of the fourth order ... fits the experimental statistics with the high accuracy",
    "fourth order",
    kind="forensic",
    asked="order 4 in all 6 columns",
)
def orders_by_aicc() -> Answer:
    """Columns in which order 4 is best once each coefficient has to pay for itself (AICc)."""
    best = {column: best_order(column) for column in COLUMNS}
    listed = ", ".join(f"{operation.lower()} {level}: {order}" for (operation, level), order in best.items())
    return Answer(Count(sum(order == 4 for order in best.values()), len(best)), note=f"Best are {listed}.")  # noqa: PLR2004


#: Other ways to give the difference of an estimate and what Table V calls measured, in percent.
_CONVENTIONS: dict[str, Callable[[MixKey], Interval]] = {
    "(estimate - mean) / mean": lambda key: percent_above(table4()[key], mixed_from_pure(key)),
    "(estimate - mean) / estimate": lambda key: -percent_above(mixed_from_pure(key), table4()[key]),
    "(mean - estimate) / estimate": lambda key: percent_above(mixed_from_pure(key), table4()[key]),
}


@claim(
    "g20-forensic-table5-sign",
    "Table V",
    "Table V shows a deviation between experimentally measured and estimated (see Table IV) delays",
    "",
    kind="forensic",
    asked="(estimate - mean) / mean in all 144 cells",
)
def sign_of_table_5() -> Answer:
    """Cells of Table V that each convention gives from Tables I, II and IV."""
    met = {
        name: Count(sum(overlap(of(key), printed_deviation(*key)) for key in table4()), len(table4()))
        for name, of in _CONVENTIONS.items()
    }
    residual = Count(sum(overlap(residual_percent(*key), printed_deviation(*key)) for key in table4()), len(table4()))
    first, *others = met.items()
    listed = "; ".join(f"{name}: {count}" for name, count in others)
    return Answer(
        first[1],
        {RESIDUAL: residual},
        f"Mean is that of Tables I and II, weighted. {listed}. Positive is thus an estimate that is too low.",
        "base",
    )


@claim(
    "g20-forensic-cells-off-curve",
    "Tables I and II",
    "Average latency, us",
    "",
    kind="forensic",
    asked=f"within {_FAR_PERCENT:.0f}% of the fit of order 4 in all 72 cells",
)
def cells_off_the_curve() -> Answer:
    """Latencies of Tables I and II that are within 10 percent of the fit of order 4 to their column."""
    off = {
        (column, n): middle(percent_above(benchmarks().latency_us[column][n], fitted(column, n)))
        for column, n in product(COLUMNS, benchmarks().threads())
    }
    ranked = sorted(off, key=lambda key: -abs(off[key]))[:3]
    listed = ", ".join(f"{o.lower()} {level} at {n}, {off[(o, level), n]:+.1f} %" for (o, level), n in ranked)
    near = Count(sum(abs(percent) <= _FAR_PERCENT for percent in off.values()), len(off))
    return Answer(near, note=f"Farthest are {listed}.")


def unseen_ends(column: Column, order: int) -> float:
    """Error in percent, mean of the first and last thread count of a column, each left out of the fit."""
    ends = (benchmarks().threads()[0], benchmarks().threads()[-1])
    off = [percent_above(fitted(column, n, order, n), benchmarks().latency_us[column][n]) for n in ends]
    return float(np.mean([abs(middle(percent)) for percent in off]))


@claim(
    "g20-extrapolation",
    "section IV.B",
    "R-squared values (often referred to as the goodness-of-fit [27]) estimating extrapolation accuracy of different "
    "regression functions",
    "extrapolation accuracy",
    asked="the order of the highest R² is best beyond the points in all 6 columns",
)
def extrapolation() -> Answer:
    """Columns in which the order of the highest printed R² predicts the ends best, each left out of the fit."""
    printed = table("g20_table3", ("operation", "level", "model"), "r_squared")
    orders = {name: order for order, name in MODEL_NAMES.items()}
    right, means = [], dict.fromkeys(MODEL_TITLES, 0.0)
    for column in COLUMNS:
        highest = max(orders, key=lambda name: float(printed[(*column, name)]))
        errors = {order: unseen_ends(column, order) for order in MODEL_TITLES}
        right.append(min(errors, key=lambda order: errors[order]) == orders[highest])
        means = {order: means[order] + percent / len(COLUMNS) for order, percent in errors.items()}
    listed = ", ".join(f"order {order} {percent:.1f} %" for order, percent in means.items())
    return Answer(
        Count(sum(right), len(right)),
        note=f"R² says how near a curve is to the points it was drawn through. Off at the ends, on average: {listed}.",
    )
