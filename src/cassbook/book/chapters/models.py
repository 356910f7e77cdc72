"""The chapter on models: how well each curve fits, and how well it predicts what it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from cassbook.book import needs, palette
from cassbook.book.figure_style import done, panels
from cassbook.book.gaps import of_each
from cassbook.book.paper_tables import p_text
from cassbook.book.provenance import Source, check_served
from cassbook.core.consistency import LEVEL_CODES
from cassbook.core.errors import LackingError
from cassbook.core.units import US_PER_MS, US_PER_S
from cassbook.latency import model_selection, models, uncertainty
from cassbook.latency.regression import MODEL_NAMES
from cassbook.shown.tables import Format, formatted, titled

#: Models whose least squares have a table of their own: the paper's.
POLYNOMIALS = tuple(MODEL_NAMES.values())
_TOO_FEW = "too few points"
#: Drawn beyond what they were fitted to.
_DRAWN = {"linear": "--", "order4": ":", "spline": "-.", "mva": "-", "usl": (0, (6, 2))}
_COLOURS = dict(zip(_DRAWN, sns.color_palette("colorblind", len(_DRAWN)).as_hex(), strict=True))
#: Columns of `meanings`, with titles and formats.
_MEANINGS: dict[str, tuple[str, Format]] = {
    "demand_us": ("demand D, us", ".1f"), "delay_us": ("delay Z, us", ".0f"), "capacity_per_s": ("1/D, 1/s", ".0f"),
    "most_per_s": ("most measured, 1/s", ".0f"), "contention": ("sigma", ".4f"), "coherency": ("kappa", ".1e"),
}  # fmt: skip


def points(source: Source) -> pd.DataFrame:
    """Return the pure workloads of a source: one row per block of a run, one row per printed mean."""
    return source.level_stats if source.run is None else model_selection.points_of(source.cell_stats)


@lru_cache(maxsize=8)
def judged(source: Source) -> pd.DataFrame:
    """Return every model on every series of a source (see `model_selection.judge_all`)."""
    needs.thread_counts(source, max(kind.fewest for kind in models.MODELS.values()), "comparing the curves")
    return model_selection.judge_all(points(source))


def diagnostics(source: Source, chosen: Sequence[str] = POLYNOMIALS) -> pd.DataFrame:
    """Return R², adjusted R², AICc, condition numbers and lack of fit of each series as `judged` has them, in words:
    index operation, level, model.
    """
    columns: dict[str, tuple[str, Format]] = {
        "r_squared": ("R²", ".4f"),
        "adjusted_r_squared": ("adjusted R²", ".4f"),
        "aicc": ("AICc", ".1f"),
        "condition_raw": ("condition, threads", ".0e"),
        "condition_scaled": ("condition, scaled", ".0f"),
        "lack_of_fit_p": ("lack of fit, p", p_text),
        "coverage": ("inside 95 %", ".0%"),
    }
    table = judged(source)
    table = table[table["model"].isin(chosen)]
    return titled(table, columns).set_index([table["operation"], table["level"], _titles(table["model"])])


def _titles(names: pd.Series) -> pd.Series:
    return names.map({name: kind.title for name, kind in models.MODELS.items()})


def standings(sources: Sequence[Source]) -> pd.DataFrame:
    """Return how far off each model is between and beyond the points it was fitted to, by source.

    Returns
    -------
    DataFrame
        Index model; columns (source, column of `model_selection.standing`).
    """
    found = of_each(sources, lambda source: model_selection.standing(judged(source)))
    table = pd.concat(found, axis=1, sort=False) if found else pd.DataFrame()
    return table.set_index(pd.Index(_titles(pd.Series(table.index)), name="model"))


def standings_shown(sources: Sequence[Source]) -> pd.DataFrame:
    """Return `standings` in words: medians over series with the worst single point behind, and how often a model was
    the best between and beyond.
    """
    table, shown = standings(sources), {}
    for label in table.columns.unique(0):
        of_source = pd.DataFrame(table[label])
        words = formatted(of_source, {
            **dict.fromkeys(("between_percent", "beyond_percent"), ".1f"),
            **dict.fromkeys(("between_worst_percent", "beyond_worst_percent"), " ({:.0f})".format),
            **dict.fromkeys(("best_between", "best_beyond"), ""),
        })  # fmt: skip
        for where in ("between", "beyond"):
            both = words[f"{where}_percent"] + words[f"{where}_worst_percent"]
            shown[label, f"{where}, %"] = both.where(of_source[f"{where}_percent"].notna(), _TOO_FEW)
        shown[label, "best"] = words["best_between"] + ", " + words["best_beyond"]
    return pd.DataFrame(shown)


def median_errors(source: Source, *names: str) -> dict[str, float]:
    """Return medians over series of a model's mean absolute error, in percent, by names such as 'usl_beyond'."""
    standing = model_selection.standing(judged(source))
    return {name: float(standing[f"{where}_percent"][model]) for name in names for model, where in [name.split("_")]}


def meanings(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the parameters of the two models with a meaning, fitted to each series.

    Returns
    -------
    DataFrame
        Index source, operation, level; columns demand_us (D), delay_us (Z), capacity_per_s (1/D), most_per_s
        (measured), contention (sigma), coherency (kappa).
    """
    rows = {}
    for label, of_source in of_each(sources, _with_meaning).items():
        for key, group in of_source.groupby(model_selection.SERIES, sort=False):
            queue, law = models.closed_queue(group), models.scalability(group)
            most = group.groupby("threads")["throughput_per_s"].mean().max()
            rows[label, *key] = (
                queue.demand_us, queue.delay_us, US_PER_S / queue.demand_us, most, law.contention, law.coherency,
            )  # fmt: skip
    index = pd.MultiIndex.from_tuples(list(rows), names=["source", *model_selection.SERIES])
    return pd.DataFrame(list(rows.values()), index=index, columns=list(_MEANINGS))


def meanings_shown(sources: Sequence[Source]) -> pd.DataFrame:
    """Return `meanings` in words."""
    return titled(meanings(sources), _MEANINGS)


def _with_meaning(source: Source) -> pd.DataFrame:
    needs.thread_counts(source, max(models.MODELS[name].fewest for name in ("mva", "usl")), "either model")
    return points(source)


def summary(source: Source) -> dict[str, float | int]:
    """Return figures that the chapter's prose quotes.

    Returns
    -------
    dict
        r2_line: least R² of a straight line. aicc_four: series whose AICc prefers the fourth order among polynomials.
    """
    known = judged(source).dropna(subset="aicc")
    known = known[known["model"].isin(POLYNOMIALS)]
    chosen = known.loc[known.groupby(model_selection.SERIES)["aicc"].idxmin(), "model"]
    return {
        "r2_line": float(_of(source, "linear")["r_squared"].min()),
        "aicc_four": int((chosen == "order4").sum()),
    }


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


def errors(sources: Sequence[Source]) -> Figure:
    """Draw the mean absolute error of each model on what it has not seen; one dot per series, between above beyond."""
    tables = of_each(sources, judged)
    figure, axes = panels(2, len(tables), height=2.9, sharex=True, sharey="row")
    for column, (label, table) in enumerate(tables.items()):
        titles = [models.MODELS[name].title for name in table["model"]]
        for row, where in enumerate(("between", "beyond")):
            panel = axes[row, column]
            sns.stripplot(
                x=table[f"{where}_percent"], y=titles, hue=table["level"], palette=palette.LEVELS, size=5, ax=panel,
                jitter=0.15, legend=row == 0 and column == 0,
            )  # fmt: skip
            panel.set_xscale("log")
            panel.set(title=f"{label}: {where}", xlabel="mean error, %" if row else "", ylabel="")
    return done(figure)


def beyond(source: Source, operation: str, level: str) -> Figure:
    """Draw curves fitted to the lowest thread counts of one series, drawn to the highest; points they saw are
    filled.
    """
    measured = of_series(source, operation, level)
    threads = np.sort(measured["threads"].unique())
    seen = measured[measured["threads"].isin(threads[: model_selection.FEWEST_BELOW])]
    grid = np.linspace(threads[0], threads[-1], 200)
    figure, axes = panels(1, 1, width=7.2, height=3.8)
    panel = axes[0, 0]
    for name, line in _DRAWN.items():
        curve = np.asarray(models.fit(seen, name).predict(grid)) / US_PER_MS
        panel.plot(grid, curve, linestyle=line, color=_COLOURS[name], linewidth=1.5, label=models.MODELS[name].title)
    means = measured.groupby("threads")["latency_us"].mean() / US_PER_MS
    inside = means.index <= threads[model_selection.FEWEST_BELOW - 1]
    panel.plot(means.index[inside], means[inside], "o", color="black", markersize=5, label="measured, fitted to")
    panel.plot(
        means.index[~inside], means[~inside], "o", color="black", markersize=5, fillstyle="none", label="measured"
    )
    top = 2.2 * float(means.max())
    panel.set(
        xlabel="threads",
        ylabel="mean latency, ms",
        ylim=(min(0, -0.1 * top), top),
        title=f"{source.label}: {operation} {level}",
    )
    panel.axvline(threads[model_selection.FEWEST_BELOW - 1], color="grey", linewidth=0.8)
    panel.legend(fontsize=8)
    return done(figure)
