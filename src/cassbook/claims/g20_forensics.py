"""Where the 2020 paper's numbers come from: definitions, equations, Table V, policies, Little's law."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import norm

from cassbook.claims.g20_cells import OF_ITSELF, OF_ONE, ORDERS, latency_slowdown, residual_percent, throughput_slowdown
from cassbook.claims.g20_source import (
    COLUMNS,
    LEVELS,
    OPERATIONS,
    ROMAN,
    SETTINGS,
    SHARES,
    TABLE_OF,
    MixKey,
    benchmarks,
    coefficient,
    estimate,
    influence,
    levels_of,
    mix,
    mixed_from_pure,
    r_squared,
    table,
    table4,
    underlined,
    winners,
)
from cassbook.claims.interval import (
    Interval,
    as_printed,
    exactly,
    high,
    low,
    mean,
    middle,
    overlap,
    percent_above,
    percent_below,
)
from cassbook.claims.registry import Cell, cells, claim
from cassbook.claims.statement import Answer, Count, Statement

_WORDS = {1: "linear", 2: "order 2", 3: "order 3", 4: "order 4"}

# Which definition of slowdown


def _fits(quantity: str, of: str) -> tuple[Count, list[str]]:
    """Cells of a slowdown column that a definition gives, and those it does not."""
    missed, total = [], 0
    for operation in OPERATIONS:
        texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
        for (threads, level), text in texts.items():
            if not text:
                continue
            total += 1
            at = (operation, level, int(threads))
            found = latency_slowdown(*at) if quantity == "latency" else throughput_slowdown(*at, of)
            if not overlap(found, as_printed(text)):
                missed.append(f"{operation.lower()} {level} at {threads}: printed {text}, gives {middle(found):.2f}")
    return Count(total - len(missed), total), missed


@claim(
    "g20-forensic-latency-definition",
    "Tables I and II",
    "Average latency (slowdown, % of ONE)",
    "(level - ONE) / ONE in all 48 cells",
    kind="forensic",
)
def latency_definition() -> Answer:
    """Slowdown cells of latency that (level - ONE) / ONE gives."""
    count, missed = _fits("latency", OF_ONE)
    return Answer(count, note="Not: " + "; ".join(missed) + ". Rounded up instead of to the nearest, it would fit.")


@claim(
    "g20-forensic-throughput-definition",
    "Tables I and II",
    "Average throughput (slowdown, % of ONE)",
    "(ONE - level) / ONE in all 48 cells",
    kind="forensic",
)
def throughput_definition() -> Answer:
    """Slowdown cells of throughput that (ONE - level) / ONE gives, and those that ONE / level - 1 gives."""
    by_header, _ = _fits("throughput", OF_ONE)
    by_itself, missed = _fits("throughput", OF_ITSELF)
    return Answer(
        by_header,
        note=f"ONE / level - 1 gives {by_itself}; not: {'; '.join(missed)}. The likeliest explanation: the formula of "
        "the latency column, larger over smaller less one, was copied to the throughput columns.",
    )


# Which single typo


def one_character_repairs(text: str, good: Callable[[str], bool]) -> list[str]:
    """Whole numbers one keystroke away from `text` that satisfy `good`: a digit changed, left out, put in, or swapped.

    Parameters
    ----------
    text : str
        Digits.
    good : callable
        Whether a candidate repairs what is broken.
    """
    digits = "0123456789"
    changed = {text[:i] + d + text[i + 1 :] for i in range(len(text)) for d in digits}
    left_out = {text[:i] + text[i + 1 :] for i in range(len(text))}
    put_in = {text[:i] + d + text[i:] for i in range(len(text) + 1) for d in digits}
    swapped = {text[:i] + text[i + 1] + text[i] + text[i + 2 :] for i in range(len(text) - 1)}
    candidates = (changed | left_out | put_in | swapped) - {text, ""}
    numbers = [c for c in candidates if c == "0" or not c.startswith("0")]
    return sorted((c for c in numbers if good(c)), key=lambda c: (len(c), c))


def _slowdown_of(strong: str, weak: str, percent: str, quantity: str, of: str) -> bool:
    """Whether three printed numbers of a row satisfy a definition of slowdown."""
    x, one = as_printed(strong), as_printed(weak)
    lost = percent_above(x, one) if quantity == "latency" else percent_below(x, one)
    if of == OF_ITSELF:
        lost = percent_above(one, x)
    return overlap(lost, as_printed(percent))


@dataclass(frozen=True, slots=True)
class Repair:
    """One keystroke that mends a row: which of its numbers (a level, or 'percent'), as printed and as mended."""

    number: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.number} {self.old} to {self.new}"


def row_repairs(operation: str, level: str, threads: int, quantity: str, of: str) -> list[Repair]:
    """Single keystrokes that make a row's slowdown agree with its numbers."""
    column = "latency_us" if quantity == "latency" else "throughput_per_s"
    values = table(TABLE_OF[operation], ("threads", "level"), column)
    percents = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
    strong, weak = values[str(threads), level], values[str(threads), "ONE"]
    percent = percents[str(threads), level]
    tries = {
        level: (strong, lambda new: _slowdown_of(new, weak, percent, quantity, of)),
        "ONE": (weak, lambda new: _slowdown_of(strong, new, percent, quantity, of)),
        "percent": (percent, lambda new: _slowdown_of(strong, weak, new, quantity, of)),
    }
    return [Repair(name, old, new) for name, (old, good) in tries.items() for new in one_character_repairs(old, good)]


def _supported_by_average(at: tuple[str, str, int, str], repair: Repair) -> bool:
    """Whether the printed average of the column allows a mended percent."""
    operation, level, threads, quantity = at
    texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
    averages = table(f"{TABLE_OF[operation]}_averages", ("level",), f"{quantity}_slowdown_percent")
    column = {int(n): text for (n, of), text in texts.items() if of == level} | {threads: repair.new}
    printed = as_printed(averages[level,])
    return overlap(mean(exactly(text) for text in column.values()), printed)


def _supported_by_table4(operation: str, threads: int, repair: Repair) -> bool:
    """Whether Table IV, which follows from fits to the latencies, still does so with one latency mended."""
    column = (operation, repair.number)
    moved_us = float(repair.new) - float(repair.old)
    keys = [key for key in table4() if column in levels_of(key[2])]
    shares = {key: float(key[1]) if operation == "READ" else 1 - float(key[1]) for key in keys}
    shift = {key: shares[key] * influence(column, threads, key[0]) * moved_us for key in keys}
    return all(overlap(estimate(key) + exactly(repr(shift[key])), table4()[key]) for key in keys)


def _supported(at: tuple[str, str, int, str], repair: Repair) -> bool:
    operation, _, threads, quantity = at
    if repair.number == "percent":
        return _supported_by_average(at, repair)
    return quantity == "latency" and _supported_by_table4(operation, threads, repair)


def _broken_rows() -> Iterator[tuple[str, str, int, str]]:
    """(operation, level, threads, quantity) of slowdown cells that neither definition gives."""
    for operation in OPERATIONS:
        for quantity in ("latency", "throughput"):
            texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
            for (threads, level), text in texts.items():
                definitions = (OF_ONE,) if quantity == "latency" else (OF_ONE, OF_ITSELF)
                values = [
                    latency_slowdown(operation, level, int(threads))
                    if quantity == "latency"
                    else throughput_slowdown(operation, level, int(threads), of)
                    for of in definitions
                    if text
                ]
                if values and not any(overlap(value, as_printed(text)) for value in values):
                    yield operation, level, int(threads), quantity


def _little_ratio(operation: str, level: str, threads: int) -> float:
    throughput, latency_us = benchmarks().throughput_per_s[operation, level], benchmarks().latency_us[operation, level]
    return middle(throughput[threads] * latency_us[threads]) / 1e6 / threads


@cells("g20")
def broken_cells() -> Iterator[Cell]:
    """What one keystroke could repair each slowdown cell that fits no definition, and whether the paper supports it."""
    for at in _broken_rows():
        operation, level, threads, quantity = at
        definitions = (OF_ONE,) if quantity == "latency" else (OF_ONE, OF_ITSELF)
        repairs = list(dict.fromkeys(r for of in definitions for r in row_repairs(*at, of)))
        supported = [str(repair) for repair in repairs if _supported(at, repair)]
        others = [_little_ratio(operation, o, threads) for o in LEVELS if o != level]
        statement = Statement(
            f"g20-forensic-typo-{TABLE_OF[operation][4:]}-{quantity}-{level}-{threads}".lower(),
            f"{ROMAN[operation]}, {threads} threads, {level}",
            f"Average {quantity} (slowdown, % of ONE)",
            "one keystroke that the rest of the paper supports",
            kind="forensic",
        )
        note = (
            f"Keystrokes that mend the row: {', '.join(map(str, repairs)) or 'none'}. Supported by the average line or "
            f"by Table IV: {', '.join(supported) or 'none'}. Throughput times latency is "
            f"{_little_ratio(operation, level, threads):.2f} of the threads in this row, "
            f"{' and '.join(f'{ratio:.2f}' for ratio in others)} at the other levels."
        )
        yield statement, Answer(statement.printed if supported else "none is supported", note=note)


@cells("g20")
def checksums() -> Iterator[Cell]:
    """Each printed average of a slowdown column against the mean of the column's printed cells, a checksum of both."""
    for operation in OPERATIONS:
        for quantity in ("latency", "throughput"):
            texts = table(TABLE_OF[operation], ("threads", "level"), f"{quantity}_slowdown_percent")
            averages = table(f"{TABLE_OF[operation]}_averages", ("level",), f"{quantity}_slowdown_percent")
            for level in LEVELS[1:]:
                statement = Statement(
                    f"g20-checksum-{TABLE_OF[operation][4:]}-{quantity}-{level}".lower(),
                    f"{ROMAN[operation]}, line Average, {level}",
                    f"Average of the printed {quantity} slowdowns",
                    f"+{averages[level,]}%",
                    kind="forensic",
                )
                column = [exactly(text) for (_, of), text in texts.items() if of == level]
                yield statement, Answer(mean(column))


# Can the printed equations give Table IV


def _polynomial(column: tuple[str, str], threads: int, rounded: bool) -> Interval:
    """Printed equation at a thread count; its coefficients at face value, or as intervals of their rounding."""
    texts = table("g20_equations", ("operation", "level", "power"), "coefficient")
    total = exactly(0)
    for power in range(5):
        text = texts[(*column, str(power))]
        total += (as_printed(text) if rounded else exactly(text)) * threads**power
    return total


@cache
def _by_equations(key: MixKey, rounded: bool) -> Interval:
    threads, share, setting = key
    reads, writes = levels_of(setting)
    return mix(_polynomial(reads, threads, rounded), _polynomial(writes, threads, rounded), share)


@claim(
    "g20-forensic-equations-face-value",
    "section V, Table IV",
    "some estimates of the Cassandra latency ... using (2-7) and (8-10)",
    "all 144 cells",
    kind="forensic",
)
def equations_at_face_value() -> Answer:
    """Cells of Table IV that equations (2) to (7) give with their coefficients as printed."""
    off = {key: middle(percent_above(_by_equations(key, False), printed)) for key, printed in table4().items()}
    met = sum(overlap(_by_equations(key, False), printed) for key, printed in table4().items())
    worst = max(off, key=lambda key: abs(off[key]))
    return Answer(
        Count(met, len(off)),
        note=f"Off by up to {abs(off[worst]):.1f} % ({worst[2]}, {worst[0]} threads): the coefficients of x^3 and x^4 "
        "are printed with one digit.",
    )


@claim(
    "g20-forensic-equations-rounded",
    "section V, Table IV",
    "some estimates of the Cassandra latency ... using (2-7) and (8-10)",
    "all 144 cells",
    kind="forensic",
)
def equations_within_rounding() -> Answer:
    """Cells of Table IV within what equations (2) to (7) allow if every coefficient is an interval of its rounding."""
    met = [overlap(_by_equations(key, True), printed) for key, printed in table4().items()]
    ranges = [_by_equations(key, True) for key in table4() if key[0] == max(n for n, _, _ in table4())]
    widths = [high(x) - low(x) for x in ranges]
    missed = sorted({key[2] for key, good in zip(table4(), met, strict=True) if not good})
    return Answer(
        Count(sum(met), len(met)),
        note=f"At 1000 threads the allowed range is {min(widths) / 1000:.0f} to {max(widths) / 1000:.0f} ms wide, so "
        f"agreement says little. Missed in: {', '.join(missed) or 'none'} (equation 3 has a sign wrong).",
    )


@claim(
    "g20-forensic-unrounded-fits",
    "section V, Table IV",
    "some estimates of the Cassandra latency ... using (2-7) and (8-10)",
    "all 144 cells",
    kind="forensic",
)
def unrounded_fits() -> Answer:
    """Cells of Table IV that fits of order 4 to Tables I and II give when nothing is rounded."""
    met = [overlap(estimate(key), printed) for key, printed in table4().items()]
    worst = max(abs(middle(estimate(key)) - middle(printed)) for key, printed in table4().items())
    return Answer(Count(sum(met), len(met)), note=f"The largest difference is {worst:.2f} us.")


@claim(
    "g20-forensic-sign",
    "equations (2) to (7)",
    "y QUORUM Read (x) = -9E-08x^4 - 0.0002x^3 + ...",
    "all 30 signs",
    kind="forensic",
)
def signs() -> Answer:
    """Coefficients of equations (2) to (7) whose sign is that of the least squares fit."""
    wrong = []
    texts = table("g20_equations", ("equation", "operation", "level", "power"), "coefficient")
    for (equation, operation, level, power), text in texts.items():
        fit = middle(coefficient((operation, level), int(power)))
        if fit * float(text) < 0:
            wrong.append(f"equation ({equation}), x^{power}: printed {text}, fitted {fit:+.1E}")
    return Answer(Count(len(texts) - len(wrong), len(texts)), note="; ".join(wrong) + ".")


# Where Table V comes from


def _sampling_error_percent(key: MixKey) -> float:
    """Least standard error of one measured mean: variation over the root of 1000 requests a thread, nothing else."""
    threads, _, setting = key
    least = min(middle(benchmarks().cv_percent[column][threads]) for column in levels_of(setting))
    return least / float(np.sqrt(1000 * threads))


def log10_chance(errors_percent: dict[MixKey, float]) -> float:
    """Logarithm (base 10) of the chance that 144 independent measurements fall within the rounding of Table V.

    Parameters
    ----------
    errors_percent : dict
        Standard error of each measured mean, in percent. The true mean is granted to be exactly the mix of the pure
        ones, which is the hypothesis most favourable to agreement.
    """
    total = 0.0
    for key, error in errors_percent.items():
        room = 0.05 + (high(residual_percent(*key)) - low(residual_percent(*key))) / 2
        total += float(np.log10(2 * norm.cdf(room / error) - 1))
    return total


@claim(
    "g20-forensic-table5-chance",
    "Table V",
    "experimental results were compared with the estimated data",
    "agreement by chance above 5%",
    relation="above",
    kind="forensic",
)
def chance_of_agreement() -> Answer:
    """Chance in percent that independently measured mixes agree with the mix of pure means in every digit printed."""
    sampling = {key: _sampling_error_percent(key) for key in table4()}
    exponent = log10_chance(sampling)
    residuals = [middle(residual_percent(*key)) for key in table4()]
    from_run_to_run = float(np.std(residuals))
    wider = log10_chance({key: float(np.hypot(error, from_run_to_run)) for key, error in sampling.items()})
    return Answer(
        exactly(f"1e{exponent + 2:.0f}"),
        note=f"About 10^{exponent:.0f} if sampling were the only error ({np.median(list(sampling.values())):.2f} % of "
        f"the mean, typically) and mixes were exact weighted means; about 10^{wider:.0f} if runs also scatter by "
        f"{from_run_to_run:.1f} %, as Tables I and II scatter about their curves.",
    )


# How good are the choices


def score(choose: Callable[[int, str], str]) -> tuple[Interval, Count]:
    """Share in percent, and count, of the 48 workloads at which a policy names the underlined setting of Table V."""
    right = [choose(threads, share) == best for (threads, share), best in underlined().items()]
    return exactly(100 * sum(right)) / len(right), Count(sum(right), len(right))


def least_of(latency: Callable[[MixKey], Interval]) -> Callable[[int, str], str]:
    """Policy that takes the setting of least latency by some account of it."""
    return lambda threads, share: min(SETTINGS, key=lambda s: middle(latency((threads, share, s))))


def _always(setting: str) -> Callable[[int, str], str]:
    return lambda _threads, _share: setting


def _policies() -> dict[str, tuple[str, Callable[[int, str], str]]]:
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
def policies() -> Iterator[Cell]:
    """Share of underlined settings that simpler policies name, beside the paper's 92 %."""
    for name, (words, choose) in _policies().items():
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


def _estimates_by(order: int, leave_out: bool) -> Callable[[MixKey], Interval]:
    """Estimates by regressions of an order, each thread count left out of its own fit or not."""
    return lambda key: estimate(key, order, key[0] if leave_out else None)


@cells("g20")
def orders() -> Iterator[Cell]:
    """Share of underlined settings that regressions of order 1 to 4 name, fitted with and without the point."""
    for order, word in _WORDS.items():
        for out in (False, True):
            choose = least_of(_estimates_by(order, out))
            share, count = score(choose)
            how = "each thread count left out of the fit that predicts it" if out else "fitted to all thread counts"
            statement = Statement(
                f"g20-forensic-{'leave-one-out' if out else 'in-sample'}-order{order}",
                "section VI.B",
                "the proposed methodology suggests optimal consistency settings in 92%",
                "92%",
                kind="forensic",
            )
            yield statement, Answer(share, note=f"Regressions: {word}, {how}. Right in {count}.")


@claim(
    "g20-forensic-choices-convention",
    "section VI.B",
    "matching the cells with the underlined values in Tables IV and V",
    "92%",
    kind="forensic",
)
def choices_by_convention() -> Answer:
    """Share of workloads at which minima of Table IV match Table V, under conventions that could give 92 percent."""
    plain, count = score(lambda threads, share: winners(share)[threads])
    pure = {key: mixed_from_pure(key) for key in table4()}
    close = {
        (n, share): middle(percent_above(pure[n, share, winners(share)[n]], pure[n, share, best]))
        for (n, share), best in underlined().items()
    }
    within = exactly(100 * sum(lost <= 1 for lost in close.values())) / len(close)
    without_first = [winners(share)[n] == best for (n, share), best in underlined().items() if n > 10]  # noqa: PLR2004
    readings = {
        "a choice within 1 % of the best counts as right": within,
        "without the row of 10 threads": exactly(100 * sum(without_first)) / len(without_first),
        "regressions of order 3 instead of 4": score(least_of(lambda key: estimate(key, 3)))[0],
        "regressions of order 2 instead of 4": score(least_of(lambda key: estimate(key, 2)))[0],
    }
    lost = [value for value in close.values() if value > 0]
    return Answer(
        plain,
        readings,
        f"{count}; a wrong choice costs {max(lost):.1f} % at most, {np.mean(list(close.values())):.2f} % on average.",
    )


# Little's law


def _cold_s() -> float:
    """Seconds by which a cold start of 800 to 1000 ms, 5 to 8 times slower (section III.B), lengthens a run."""
    length_s, factor = np.mean([0.8, 1.0]), np.mean([5, 8])
    return float(length_s * (1 - 1 / factor))


def _times() -> tuple[np.ndarray, np.ndarray]:
    """Seconds a row's run must have taken (1000 requests a thread over the throughput), and 1000 mean latencies."""
    whole, busy = [], []
    for column in COLUMNS:
        latency_us, throughput = benchmarks().latency_us[column], benchmarks().throughput_per_s[column]
        for n in latency_us.index:
            whole.append(1000 * n / middle(throughput[n]))
            busy.append(middle(latency_us[n]) / 1000)
    return np.array(whole), np.array(busy)


@claim(
    "g20-forensic-little-rows",
    "Tables I and II",
    "average throughput x average latency = requests in flight",
    "at most the threads in all 72 rows",
    kind="forensic",
)
def little_rows() -> Answer:
    """Rows whose throughput times latency does not exceed their threads."""
    over, total = [], 0
    for operation, level in COLUMNS:
        throughput = benchmarks().throughput_per_s[operation, level]
        latency_us = benchmarks().latency_us[operation, level]
        for n in latency_us.index:
            total += 1
            if low(throughput[n] * latency_us[n] / 1_000_000) > n:
                over.append(f"{operation.lower()} {level} at {n} ({_little_ratio(operation, level, n):.3f})")
    return Answer(
        Count(total - len(over), total),
        note=f"More in flight than there are threads: {', '.join(over)}. Innocently so if latency and throughput were "
        "not taken over the same requests (the cold start is cut from latency), or a digit slipped.",
    )


@claim(
    "g20-forensic-little-shape",
    "Tables I and II",
    "This period is taken out of consideration in our further statistical analysis",
    "additive",
    kind="forensic",
)
def deficit_shape() -> Answer:
    """Whether runs take a fixed time more than their requests (additive) or a fixed share (factor)."""
    whole, busy = _times()
    seconds = float(np.mean(whole - busy))
    share = float(np.exp(np.mean(np.log(whole / busy))))
    # both models have one constant; errors of log time, since runs last from 9 to 100 s
    additive = float(np.sum(np.log(whole / (busy + seconds)) ** 2))
    factor = float(np.sum(np.log(whole / (busy * share)) ** 2))
    margin = whole.size * np.log(factor / additive)  # difference of AICc: both count one constant and a variance
    undecided = abs(margin) < 2  # noqa: PLR2004 - Burnham and Anderson
    return Answer(
        "undecided" if undecided else "additive" if margin > 0 else "factor",
        note=f"A run lasts {seconds:.1f} s longer than 1000 mean latencies (standard deviation "
        f"{np.std(whole - busy, ddof=1):.1f} s), or {100 * (share - 1):.0f} % longer; the difference of AICc is "
        f"{abs(margin):.1f}. The cold start as the paper gives it, cut from latency only, accounts for {_cold_s():.1f} "
        "s; ramp-up and stragglers may be the rest.",
    )


@claim(
    "g20-forensic-refit",
    "Table III",
    "GOODNESS-OF-FIT FOR READ/WRITE REGRESSIONS",
    "all 24 cells",
    kind="forensic",
)
def goodness_of_fit_rows() -> Answer:
    """Cells of Table III that round to what fits of Tables I and II give."""
    printed = table("g20_table3", ("operation", "level", "model"), "r_squared")
    found = {(o, level, m): r_squared((o, level), ORDERS[m]) for o, level, m in printed}
    off = {key: value for key, value in found.items() if not overlap(as_printed(printed[key]), value)}
    words = [f"{o.lower()} {level}, {m}: {middle(value):.5f}" for (o, level, m), value in off.items()]
    return Answer(Count(len(printed) - len(off), len(printed)), note="Other: " + "; ".join(words) + ".")
