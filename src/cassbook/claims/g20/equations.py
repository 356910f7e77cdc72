"""Whether the equations of the 2020 paper can give its Tables III and IV."""

from __future__ import annotations

from functools import cache

from cassbook.claims.g20.derived import ORDERS
from cassbook.claims.g20.source import MixKey, coefficient, estimate, levels_of, mix, r_squared, table, table4
from cassbook.claims.interval import Interval, as_printed, exactly, high, low, middle, overlap, percent_above
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count


def polynomial(column: tuple[str, str], threads: int, rounded: bool) -> Interval:
    """Printed equation at a thread count; its coefficients at face value, or as intervals of their rounding."""
    texts = table("g20_equations", ("operation", "level", "power"), "coefficient")
    total = exactly(0)
    for power in range(5):
        text = texts[(*column, str(power))]
        total += (as_printed(text) if rounded else exactly(text)) * threads**power
    return total


#: Equation (3), whose first coefficient has the wrong sign.
_WRONG_SIGN, _WRONG_POWER = ("READ", "QUORUM"), 4


@cache
def by_equations(key: MixKey, rounded: bool, sign_mended: bool = False) -> Interval:
    """Latency of a mix by equations (2) to (10); with the sign of equation (3) as the fit has it, if asked."""
    threads, share, setting = key
    columns = levels_of(setting)
    reads, writes = (polynomial(column, threads, rounded) for column in columns)
    if sign_mended and columns[0] == _WRONG_SIGN:
        text = table("g20_equations", ("operation", "level", "power"), "coefficient")[*_WRONG_SIGN, str(_WRONG_POWER)]
        reads -= 2 * exactly(text) * threads**_WRONG_POWER
    return mix(reads, writes, share)


_ESTIMATES = ("section V, Table IV", "some estimates of the Cassandra latency ... using (2-7) and (8-10)")


@claim("g20-forensic-equations-face-value", *_ESTIMATES, "", kind="forensic", asked="all 144 cells")
def equations_at_face_value() -> Answer:
    """Cells of Table IV that equations (2) to (7) give with their coefficients as printed."""
    off = {key: middle(percent_above(by_equations(key, False), printed)) for key, printed in table4().items()}
    met = sum(overlap(by_equations(key, False), printed) for key, printed in table4().items())
    worst = max(off, key=lambda key: abs(off[key]))
    unaffected = max((key for key in off if key[2] != "2R-2W"), key=lambda key: abs(off[key]))
    return Answer(
        Count(met, len(off)),
        note=f"Off by up to {abs(off[worst]):.1f} % ({worst[2]}, {worst[0]} threads), where equation (3) enters with a "
        f"wrong sign, and by up to {abs(off[unaffected]):.1f} % elsewhere ({unaffected[2]}, {unaffected[0]} threads), "
        "since the coefficients of x^3 and x^4 are printed with one digit.",
    )


@claim("g20-forensic-equations-rounded", *_ESTIMATES, "", kind="forensic", asked="all 144 cells")
def equations_within_rounding() -> Answer:
    """Cells of Table IV within what equations (2) to (7) allow if every coefficient is an interval of its rounding."""
    met = [overlap(by_equations(key, True), printed) for key, printed in table4().items()]
    ranges = [by_equations(key, True) for key in table4() if key[0] == max(n for n, _, _ in table4())]
    widths = [high(x) - low(x) for x in ranges]
    missed = sorted({key[2] for key, good in zip(table4(), met, strict=True) if not good})
    return Answer(
        Count(sum(met), len(met)),
        note=f"At 1000 threads the allowed range is {min(widths) / 1000:.0f} to {max(widths) / 1000:.0f} ms wide, so "
        f"agreement says little. Missed in: {', '.join(missed) or 'none'} (equation 3 has a sign wrong).",
    )


@claim("g20-forensic-unrounded-fits", *_ESTIMATES, "", kind="forensic", asked="all 144 cells")
def unrounded_fits() -> Answer:
    """Cells of Table IV that fits of order 4 to Tables I and II give when nothing is rounded."""
    met = [overlap(estimate(key), printed) for key, printed in table4().items()]
    worst = max(abs(middle(estimate(key)) - middle(printed)) for key, printed in table4().items())
    return Answer(Count(sum(met), len(met)), note=f"The largest difference is {worst:.2f} us.")


@claim(
    "g20-forensic-sign",
    "equations (2) to (7)",
    "y QUORUM Read (x) = -9E-08x^4 - 0.0002x^3 + ...",
    "",
    kind="forensic",
    asked="all 30 signs",
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


@claim(
    "g20-forensic-refit",
    "Table III",
    "GOODNESS-OF-FIT FOR READ/WRITE REGRESSIONS",
    "",
    kind="forensic",
    asked="all 24 cells",
)
def goodness_of_fit_rows() -> Answer:
    """Cells of Table III that round to what fits of Tables I and II give."""
    printed = table("g20_table3", ("operation", "level", "model"), "r_squared")
    fitted = {(o, level, m): r_squared((o, level), ORDERS[m]) for o, level, m in printed}
    off = {key: value for key, value in fitted.items() if not overlap(as_printed(printed[key]), value)}
    words = [f"{o.lower()} {level}, {m}: {middle(value):.5f}" for (o, level, m), value in off.items()]
    return Answer(Count(len(printed) - len(off), len(printed)), note="Other: " + "; ".join(words) + ".")
