"""What a run of ours shows of the claims about what a cluster does: the same functions, and a verdict of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from cassbook.claims.interval import Interval, interval, middle, numbers_in
from cassbook.claims.level_means import NotInRun, Study
from cassbook.claims.registry import about_measurements
from cassbook.claims.statement import Answer, Count, Evidence, Statement, Untestable, Verdict, agrees, counted, spell
from cassbook.core.errors import InputError
from cassbook.core.estimate import FEWEST, Estimate
from cassbook.latency.summaries import level_stats

_TOO_FEW = f"no interval: a run needs {FEWEST} blocks"


def by_run(cell_stats: pd.DataFrame, engine: str, run: str) -> dict[str, Evidence]:
    """Evaluate on a run the functions that recompute claims from a paper's tables: evidence by the id of the claim.

    A number is the mean over blocks with its interval of 95 %; it agrees if the interval holds what was printed, but
    cannot tell if it is wider than the printed number is large. A count of cases is that of the whole run. Numbers of
    closed loops are prices in capacity. Claims about something that the run has not measured say so. `cell_stats` is
    from `cell_statistics`; `engine` and `run` are names for `Evidence`.
    """
    whole, blocks = Study.of(level_stats(cell_stats)), Study.blocks(cell_stats)
    found = {}
    for statement, function in about_measurements():
        try:
            answer = function(whole)
            parts = [function(block) for block in blocks]
        except NotInRun as missing:
            found[statement.id] = Evidence(f"not in this run: {missing}", "untestable", engine, run)
        except InputError as error:
            found[statement.id] = Evidence(f"not in this run: enough figures ({error})", "untestable", engine, run)
        else:
            if isinstance(answer, Answer) and answer.value is not None:
                measured, verdict = _compared(statement, answer, parts)
                price = "" if isinstance(answer.value, str | Count) or counted(answer.value) else "capacity"
                found[statement.id] = Evidence(measured, verdict, engine, run, price)
    return found


def _compared(statement: Statement, answer: Answer, parts: Sequence[Answer | Untestable]) -> tuple[str, Verdict]:
    value = answer.value
    assert value is not None  # noqa: S101 - the caller looked
    if isinstance(value, str | Count) or counted(value):
        return spell(value, statement.tested), "reproduced" if agrees(statement, value) else "not_reproduced"
    by_block = [_each(part.value) for part in parts if isinstance(part, Answer) and part.value is not None]
    if len(by_block) < FEWEST:
        return f"{spell(value, statement.tested)} ({_TOO_FEW})", "untestable"
    means = [Estimate.mean(map(middle, numbers)) for numbers in zip(*by_block, strict=True)]
    unit = "%" if "%" in statement.tested else ""
    return ", ".join(f"{mean:.1f}{unit}" for mean in means), verdict_of(statement, means)


def verdict_of(statement: Statement, means: Sequence[Estimate]) -> Verdict:
    """Compare measured numbers, one for each number of the statement, with what was printed.

    It is 'untestable' where what was printed lies in an interval that is wider than the printed number is large.
    """
    if not agrees(statement, tuple(interval(mean.low, mean.high) for mean in means)):
        return "not_reproduced"
    sizes = [abs(middle(number)) for number in numbers_in(statement.tested)]
    wide = any(mean.high - mean.low > size for mean, size in zip(means, sizes, strict=True))
    return "untestable" if wide else "reproduced"


def _each(value: Interval | float | tuple[Interval | float, ...] | str | Count) -> tuple[Interval | float, ...]:
    return value if isinstance(value, tuple) else (value,)
