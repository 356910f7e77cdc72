"""Tables of the chapter on models: how well each curve fits, and how well it predicts what it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd

from cassbook.book.source import Source, check_served
from cassbook.latency import model_selection, models, uncertainty
from cassbook.latency.regression import MODEL_NAMES

#: Models whose least squares have a table of their own: the paper's.
POLYNOMIALS = tuple(MODEL_NAMES.values())
_QUOTED = ("linear", "order2", "order4", "usl")


def points(source: Source) -> pd.DataFrame:
    """Return the pure workloads of a source: one row per block of a run, one row per printed mean."""
    return source.level_stats if source.run is None else model_selection.points_of(source.cell_stats)


@lru_cache(maxsize=8)
def judged(source: Source) -> pd.DataFrame:
    """Return every model on every series of a source (see `model_selection.judge_all`)."""
    return model_selection.judge_all(points(source))


def _shown(value: float, spec: str) -> str:
    return "" if np.isnan(value) else spec.format(value)


def diagnostics(source: Source, chosen: Sequence[str] = POLYNOMIALS) -> pd.DataFrame:
    """Return R², adjusted R², AICc, condition numbers and lack of fit of each series, one row per model.

    Returns
    -------
    DataFrame of str
        Index operation, level, model.
    """
    specs = {
        "r_squared": ("R²", "{:.4f}"),
        "adjusted_r_squared": ("adjusted R²", "{:.4f}"),
        "aicc": ("AICc", "{:.1f}"),
        "condition_raw": ("condition, threads", "{:.0e}"),
        "condition_scaled": ("condition, scaled", "{:.0f}"),
        "lack_of_fit_p": ("lack of fit, p", "{:.3f}"),
        "coverage": ("inside 95 %", "{:.0%}"),
    }
    table = judged(source)
    table = table[table["model"].isin(chosen)]
    shown = {title: [_shown(v, spec) for v in table[name]] for name, (title, spec) in specs.items()}
    labels = {"operation": table["operation"], "level": table["level"], "model": _titles(table["model"])}
    return pd.DataFrame(labels | shown).set_index(["operation", "level", "model"])


def _titles(names: pd.Series) -> pd.Series:
    return names.map({name: kind.title for name, kind in models.MODELS.items()})


def standings(sources: Sequence[Source]) -> pd.DataFrame:
    """Return how far off each model is between and beyond the points it was fitted to, by source.

    Returns
    -------
    DataFrame of str
        Index model; columns (source, 'between, %'), (source, 'beyond, %') with medians over series and the worst single
        point behind, and (source, 'best') with how often it was the best between and beyond.
    """
    parts = {}
    for source in sources:
        table = model_selection.standing(judged(source))
        for where in ("between", "beyond"):
            pairs = zip(table[f"{where}_percent"], table[f"{where}_worst_percent"], strict=True)
            parts[source.label, f"{where}, %"] = pd.Series([f"{m:.1f} ({w:.0f})" for m, w in pairs], table.index)
        counts = zip(table["best_between"], table["best_beyond"], strict=True)
        parts[source.label, "best"] = pd.Series([f"{b}, {e}" for b, e in counts], table.index)
    shown = pd.DataFrame(parts)
    return shown.set_index(pd.Index(_titles(pd.Series(shown.index)), name="model"))


def median_error(source: Source, model: str, where: str) -> float:
    """Return the median over series of a model's mean absolute error, in percent; `where` is 'between' or 'beyond'."""
    return float(model_selection.standing(judged(source))[f"{where}_percent"][model])


def meanings(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the parameters of the two models with a meaning, fitted to each series.

    Returns
    -------
    DataFrame
        Index source, operation, level; columns 'demand D, us', 'delay Z, us', '1/D, 1/s', 'most measured, 1/s',
        'sigma', 'kappa'.
    """
    rows = {}
    for source in sources:
        for key, group in points(source).groupby(model_selection.SERIES, sort=False):
            queue, law = models.closed_queue(group), models.scalability(group)
            most = group.groupby("threads")["throughput_per_s"].mean().max()
            rows[source.label, *key] = (
                round(queue.demand_us, 1), round(queue.delay_us), round(1e6 / queue.demand_us), round(most),
                f"{law.contention:.4f}", f"{law.coherency:.1e}",
            )  # fmt: skip
    columns = ["demand D, us", "delay Z, us", "1/D, 1/s", "most measured, 1/s", "sigma", "kappa"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["source", *model_selection.SERIES])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def summary(source: Source, suffix: str) -> dict[str, float | int]:
    """Return Figures that the chapter's prose quotes, their names ending in `suffix`.

    Returns
    -------
    dict
        r2_line: least R² of a straight line. aicc_four: series whose AICc prefers the fourth order among polynomials.
        And `<model>_<where>`: median error of a model between and beyond, in percent.
    """
    known = judged(source).dropna(subset="aicc")
    known = known[known["model"].isin(POLYNOMIALS)]
    chosen = known.loc[known.groupby(model_selection.SERIES)["aicc"].idxmin(), "model"]
    quoted: dict[str, float | int] = {
        "r2_line": float(_of(source, "linear")["r_squared"].min()),
        "aicc_four": int((chosen == "order4").sum()),
    }
    for model, where in product(_QUOTED, ("between", "beyond")):
        quoted[f"{model}_{where}"] = median_error(source, model, where)
    return {f"{name}_{suffix}": value for name, value in quoted.items()}


def repeats(source: Source, suffix: str) -> dict[str, float | int]:
    """Return Figures that need repeats: series in which a straight line lacks fit at 5 %, and what prediction
    intervals hold.

    Returns
    -------
    dict
        lack_line: of how many series; inside_four: percent of left-out points that those of the fourth order held.
    """
    quoted: dict[str, float | int] = {
        "lack_line": int((_of(source, "linear")["lack_of_fit_p"] < 1 - uncertainty.LEVEL).sum()),
        "inside_four": float(_of(source, "order4")["coverage"].mean() * 100),
    }
    return {f"{name}_{suffix}": value for name, value in quoted.items()}


def condition_digits(source: Source) -> int:
    """Return power of ten of the condition number of fourth-order powers of threads: decimal digits that may be
    lost.
    """
    return int(np.log10(_of(source, "order4")["condition_raw"].max()))


def _of(source: Source, model: str) -> pd.DataFrame:
    table = judged(source)
    return table[table["model"] == model]


def check_series(source: Source, operation: str, level: str) -> None:
    """Refuse a series that a source does not have.

    Raises
    ------
    InputError
        Naming the operations, or the levels, that it has.
    """
    stats = source.level_stats
    check_served("operation", operation, stats["operation"])
    check_served("level", level, stats["level"])
