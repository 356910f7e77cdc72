"""Where the deviations of Table V of the 2020 paper come from, and how likely it is that mixes were measured for it."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import median_abs_deviation, norm

from cassbook.claims.g20.derived import RESIDUAL, printed_deviation, residual_percent
from cassbook.claims.g20.source import MixKey, benchmarks, levels_of, table4
from cassbook.claims.interval import exactly, high, low, middle, overlap
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer
from cassbook.core.types import Floats

#: Printed deviations have one decimal.
HALF_DIGIT_PERCENT = 0.05
#: More agreement than chance gives, in standard deviations of the count.
BEYOND_CHANCE = 3
_MEASURED, _DERIVED = "experimentally measured", "follows from Tables I, II and IV"


def sampling_error_percent(key: MixKey) -> float:
    """Least standard error of one measured mean: variation over the root of 1000 requests a thread, nothing else."""
    threads, _, setting = key
    least = min(middle(benchmarks().cv_percent[column][threads]) for column in levels_of(setting))
    return least / float(np.sqrt(1000 * threads))


def chances(from_run_to_run_percent: float = 0) -> Floats:
    """Chance of each cell of Table V to agree in its printed digit with the mix of pure means, if measured apart.

    Shape (144,). The true mean is granted to be exactly the mix of the pure ones, which favours agreement most; the
    argument is the standard deviation of a run's mean compared with its sampling error.
    """
    chance = []
    for key in table4():
        error = float(np.hypot(sampling_error_percent(key), from_run_to_run_percent))
        slack = (high(residual_percent(*key)) - low(residual_percent(*key))) / 2
        chance.append(2 * norm.cdf((HALF_DIGIT_PERCENT + slack) / error) - 1)
    return np.array(chance)


@cache
def agreeing() -> int:
    """Cells of Table V that Tables I, II and IV give within the rounding."""
    return sum(overlap(residual_percent(*key), printed_deviation(*key)) for key in table4())


@claim(
    "g20-verification",
    "section VI.B",
    "we benchmarked the Cassandra performance under mixed read/write workloads",
    "benchmarked",
    asked=_MEASURED,
)
def verification() -> Answer:
    """Whether more cells of Table V follow from Tables I, II and IV than chance allows measurements of their own."""
    expected = chances()
    limit = expected.sum() + BEYOND_CHANCE * np.sqrt((expected * (1 - expected)).sum())
    return Answer(
        _DERIVED if agreeing() > limit else _MEASURED,
        note=f"{agreeing()} of {len(expected)} cells are the {RESIDUAL}. Of mixes measured apart {expected.sum():.0f} "
        "would agree to the printed digit if sampling were the only error, fewer with any other. The likeliest "
        "innocent explanation: the column 'measured' of a spreadsheet was filled with the mix of the measured pure "
        "means, not with the runs of mixed workloads.",
        finding="not_measured",
    )


@claim(
    "g20-forensic-table5-chance",
    "Table V",
    "Obtained experimental results were compared with the estimated data reported in Table IV",
    "",
    relation="above",
    kind="forensic",
    asked="agreement by chance above 5%",
)
def chance_of_agreement() -> Answer:
    """Chance in percent that independently measured mixes agree with the mix of pure means in every digit printed."""
    exponent = float(np.log10(chances()).sum())
    residuals = [middle(residual_percent(*key)) for key in table4()]
    scatter = float(median_abs_deviation(residuals, scale="normal"))
    wider = float(np.log10(chances(scatter)).sum())
    return Answer(
        exactly(f"1e{exponent + 2:.0f}"),
        note=f"About 10^{exponent:.0f} if sampling were the only error and mixes were exact weighted means; about "
        f"10^{wider:.0f} if runs also scatter by {scatter:.1f} %, as Tables I and II scatter about their curves.",
    )
