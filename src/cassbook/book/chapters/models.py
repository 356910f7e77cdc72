"""Tables of the chapter on models: how well each curve fits, and how well it predicts what it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd

from cassbook.book import needs
from cassbook.book.gaps import of_each
from cassbook.book.paper_tables import p_text
from cassbook.book.provenance import Source, check_served
from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import LackingError
from cassbook.latency import model_selection, models, uncertainty
from cassbook.latency.regression import MODEL_NAMES

#: Models whose least squares have a table of their own: the paper's.
POLYNOMIALS = tuple(MODEL_NAMES.values())
_TOO_FEW = "too few points"
_QUOTED = ("linear", "order2", "order4", "usl")


def points(source: Source) -> pd.DataFrame:
    """Return the pure workloads of a source: one row per block of a run, one row per printed mean."""
    return source.level_stats if source.run is None else model_selection.points_of(source.cell_stats)


@lru_cache(maxsize=8)
def judged(source: Source) -> pd.DataFrame:
    """Return every model on every series of a source (see `model_selection.judge_all`)."""
    needs.thread_counts(source, max(kind.fewest for kind in models.MODELS.values()), "comparing the curves")
    return model_selection.judge_all(points(source))


def diagnostics(source: Source, chosen: Sequence[str] = POLYNOMIALS) -> pd.DataFrame:
    """Return R², adjusted R², AICc, condition numbers and lack of fit of each series, one row per model.

    Returns
    -------
    DataFrame of str
        Index operation, level, model.
    """
    specs = {
        "r_squared": ("R²", "{:.4f}".format),
        "adjusted_r_squared": ("adjusted R²", "{:.4f}".format),
        "aicc": ("AICc", "{:.1f}".format),
        "condition_raw": ("condition, threads", "{:.0e}".format),
        "condition_scaled": ("condition, scaled", "{:.0f}".format),
        "lack_of_fit_p": ("lack of fit, p", p_text),
        "coverage": ("inside 95 %", "{:.0%}".format),
    }
    table = judged(source)
    table = table[table["model"].isin(chosen)]
    shown = {title: ["" if np.isnan(v) else text(v) for v in table[name]] for name, (title, text) in specs.items()}
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
    for label, of_source in of_each(sources, judged).items():
        table = model_selection.standing(of_source)
        for where in ("between", "beyond"):
            pairs = zip(table[f"{where}_percent"], table[f"{where}_worst_percent"], strict=True)
            texts = [_TOO_FEW if np.isnan(m) else f"{m:.1f} ({w:.0f})" for m, w in pairs]
            parts[label, f"{where}, %"] = pd.Series(texts, table.index)
        counts = zip(table["best_between"], table["best_beyond"], strict=True)
        parts[label, "best"] = pd.Series([f"{b}, {e}" for b, e in counts], table.index)
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
    for label, of_source in of_each(sources, _with_meaning).items():
        for key, group in of_source.groupby(model_selection.SERIES, sort=False):
            queue, law = models.closed_queue(group), models.scalability(group)
            most = group.groupby("threads")["throughput_per_s"].mean().max()
            rows[label, *key] = (
                round(queue.demand_us, 1), round(queue.delay_us), round(1e6 / queue.demand_us), round(most),
                f"{law.contention:.4f}", f"{law.coherency:.1e}",
            )  # fmt: skip
    columns = ["demand D, us", "delay Z, us", "1/D, 1/s", "most measured, 1/s", "sigma", "kappa"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["source", *model_selection.SERIES])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def _with_meaning(source: Source) -> pd.DataFrame:
    needs.thread_counts(source, max(models.MODELS[name].fewest for name in ("mva", "usl")), "either model")
    return points(source)


def summary(source: Source) -> dict[str, float | int]:
    """Return figures that the chapter's prose quotes.

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
    return quoted


def repeats(source: Source) -> dict[str, float | int]:
    """Return figures that need repeats: series in which a straight line lacks fit at 5 %, and what prediction
    intervals hold.

    Returns
    -------
    dict
        lack_line: of how many series; inside_four: percent of left-out points that those of the fourth order held.
    """
    lacks = _of(source, "linear")["lack_of_fit_p"]
    return {
        "lack_line": int((lacks < 1 - uncertainty.LEVEL).sum()) if lacks.notna().any() else float("nan"),
        "inside_four": float(_of(source, "order4")["coverage"].mean() * 100),
    }


def condition_digits(source: Source) -> int:
    """Return power of ten of the condition number of fourth-order powers of threads: decimal digits that may be
    lost.
    """
    return int(np.log10(_of(source, "order4")["condition_raw"].max()))


def _of(source: Source, model: str) -> pd.DataFrame:
    table = judged(source)
    return table[table["model"] == model]


def check_series(source: Source, operation: str, level: str) -> None:
    """Refuse a series that is none; one that a source does not have is lacking on its page (see `of_series`).

    Raises
    ------
    InputError
        Naming the operations, or the levels, that there are.
    """
    check_served("operation", operation, ["READ", "WRITE"])
    if level not in LEVEL_CODES:
        check_served("level", level, source.level_stats["level"])


def of_series(source: Source, operation: str, level: str) -> pd.DataFrame:
    """Return the `points` of one series, which has thread counts beyond those that a curve is fitted to.

    Raises
    ------
    LackingError
        Naming the series that there are, or the thread counts.
    """
    needs.pure(source, operation)
    measured = points(source)
    measured = measured[measured["operation"] == operation]
    levels = ", ".join(measured["level"].unique())
    measured = measured[measured["level"] == level]
    if measured.empty:
        raise LackingError(f"{source.label} has no {operation} at {level}; parameter level may be {levels}")
    counts = measured["threads"].nunique()
    if counts <= model_selection.FEWEST_BELOW:
        raise LackingError(
            f"{source.label} has {operation} at {level} at {counts} thread count{'s' if counts > 1 else ''}; curves "
            f"are fitted to {model_selection.FEWEST_BELOW} and drawn beyond"
        )
    return measured
