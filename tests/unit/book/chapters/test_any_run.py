"""Whatever a run holds, each table and figure of the chapters is made of it or says in a sentence what it lacks."""

import re
import warnings
from types import SimpleNamespace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from cassbook.book import gaps, paper_tables, substitution
from cassbook.book.chapters import (
    answers,
    choosing,
    cold_start,
    cold_start_figures,
    coordinated_omission,
    deviation,
    generator,
    interleaving,
    interleaving_figures,
    latency,
    latency_figures,
    mixed_estimates,
    models,
    price,
    regressions,
)
from cassbook.book.provenance import PUBLISHED, Source
from cassbook.core.errors import CassbookWarning, LackingError
from cassbook.deployment.forecast import near
from cassbook.ingest.folder import open_run
from cassbook.latency import policies
from cassbook.records.run import RecordedRun
from tests.helpers import folder_of_logs, thin_runs

STANDARD = Source("standard", RecordedRun("standard-5.0.9"))
#: Runs by name: how each is made in a folder.
RUNS = {
    "thinnest": lambda folder: thin_runs.cut(folder, thin_runs.thinnest),
    "one level": lambda folder: thin_runs.cut(folder, thin_runs.one_level),
    "one thread count": lambda folder: thin_runs.cut(folder, thin_runs.one_thread_count),
    "one block": lambda folder: thin_runs.cut(folder, thin_runs.one_block),
    "as quick": lambda folder: thin_runs.cut(folder, thin_runs.as_quick),
    "mixes only": lambda folder: thin_runs.cut(folder, thin_runs.mixes_only),
    "own workload": lambda folder: thin_runs.cut(folder, thin_runs.mixes_only, relabel=thin_runs.OWN_WORKLOAD),
    "logs": lambda folder: logs(folder, (50,)),
    "one log": lambda folder: logs(folder, (50,), 1),
}
SHARES = [0.1, 0.5, 0.9]
#: What chapters make of a run, by name.
MADE = {
    "prices": lambda of: price.text(price.table(of)),
    "prices of mixes": lambda of: price.text(price.table(of, kind="mixed")),
    "prices by threads": lambda of: latency_figures.prices(price.by_threads(of)),
    "distributions": lambda of: latency_figures.distributions(latency.distributions_of(of[0], threads=(100, 500))),
    "Table I": lambda of: paper_tables.performance_shown(paper_tables.performance(of[0].level_stats, "READ")),
    "Table II": lambda of: paper_tables.performance_shown(paper_tables.performance(of[0].level_stats, "WRITE")),
    "Table III": paper_tables.goodness_of_fit,
    "slowdowns": latency.average_slowdowns,
    "versions": lambda of: latency_figures.ratios(latency.version_ratios(of[0], STANDARD), "latency"),
    "by threads": latency_figures.latency_by_threads,
    "by throughput": latency_figures.latency_by_throughput,
    "saturation": lambda of: latency.saturation_points_shown(latency.saturation_points(of)),
    "growth": lambda of: latency.growth_shown(latency.growth(of, beyond_saturation=False)),
    "growth beyond": lambda of: latency.growth_shown(latency.growth(of, beyond_saturation=True)),
    "rankings": lambda of: paper_tables.rankings_shown(paper_tables.rankings(of[0])),
    "orders": lambda of: paper_tables.overall_orders_shown(paper_tables.overall_orders(of, "level")),
    "orders of settings": lambda of: paper_tables.overall_orders_shown(paper_tables.overall_orders(of, "setting")),
    "deviations": lambda of: choosing.deviations_shown(choosing.deviations(of[0])),
    "parts": lambda of: choosing.mixes_and_parts_shown(choosing.mixes_and_parts(of, ["setting", "read_share"])),
    "parts drawn": choosing.parts_of_mixes,
    "hot and even": lambda of: choosing.hot_and_even_shown(choosing.hot_and_even(of[0], STANDARD)),
    "maps": choosing.domain_maps,
    "regrets": lambda of: choosing.regrets_shown(choosing.regrets(of[0])),
    "regrets in prose": lambda of: choosing.regret_figures(of[0]),
    "wider": lambda of: choosing.wider_shown(choosing.wider(of[0])),
    "wider in prose": lambda of: choosing.wider_values(of[0]),
    "saved": lambda of: choosing.mean_savings_shown(choosing.mean_savings(of)),
    "saved drawn": choosing.saved,
    "best from": lambda of: choosing.best_from(of[0]),
    "undecided": lambda of: choosing.map_values(of[0]),
    "from other starts": lambda of: policies.savings(of[0].cell_stats),
    "Table V": lambda of: deviation.deviation_dots(gaps.of_each(of, paper_tables.measured_deviations)),
    "bias": lambda of: deviation.deviation_by_setting_shown(
        deviation.deviation_by_setting(gaps.of_each(of, paper_tables.measured_deviations))
    ),
    "setting orders": lambda of: deviation.setting_orders_shown(of[0]),
    "setting orders in prose": lambda of: deviation.order_values(of[0]),
    "choices": lambda of: deviation.choices_shown(deviation.choices(of)),
    "delays": lambda of: cold_start_figures.raw_delays(of, 500),
    "cold starts": lambda of: cold_start.cold_starts_shown(cold_start.cold_starts(of[0], 500)),
    "cold conditions": lambda of: cold_start.cold_conditions_shown(of[0]),
    "cold conditions drawn": cold_start_figures.cold_conditions,
    "warm-ups": lambda of: cold_start.warm_up_factors_shown(cold_start.warm_up_factors(of)),
    "settling": lambda of: cold_start_figures.settling(cold_start.warm_ups(of)),
    "pause": lambda of: coordinated_omission.around_a_pause(of, "ONE"),
    "rates": lambda of: coordinated_omission.table(of[0]),
    "diagnostics": lambda of: models.diagnostics(of[0]),
    "standings": models.standings_shown,
    "errors": models.errors,
    "beyond": lambda of: models.beyond(of[0], "READ", "ALL"),
    "meanings": models.meanings_shown,
    "estimates": lambda of: paper_tables.latencies_shown(paper_tables.estimated(of[0], SHARES)),
    "estimates drawn": mixed_estimates.domain_maps,
    "winners": lambda of: mixed_estimates.winning_ranges_shown(mixed_estimates.winning_ranges(of[0], SHARES)),
    "speedups": lambda of: mixed_estimates.speedup_summary_shown(
        mixed_estimates.speedup_summary(gaps.of_each(of, lambda source: paper_tables.estimated(source, SHARES)))
    ),
    "coefficients": regressions.coefficients_shown,
    "curves": regressions.regression_curves,
    "misses": lambda of: regressions.miss_values(of[0]),
    "budget": lambda of: generator.cpu_budget(of[0]),
    "timeline": lambda of: interleaving_figures.timeline(interleaving.timeline(of[0].run)),
    "primary": interleaving.primary_half_widths,
    "predecessors": interleaving.predecessors_shown,
    "predecessors in prose": lambda of: interleaving.predecessor_values(of[0]),
    "choices of mixes": lambda of: answers.choices_in_words(answers.choices(of[0])),
    "alone": lambda of: near(of[0].cell_stats),
}
#: No figure: not a number, beyond all numbers, or of no use.
_NO_FIGURE = re.compile(r"\b(nan|NaN|inf|None|NaT)\b|±\s?\d{3,}\s?%|>999")


def logs(folder, threads, most=None):
    folder.mkdir()
    folder_of_logs.make(folder, RecordedRun("quick-2.1.20"), threads)
    if most:
        index = (folder / "logs.csv").read_text().splitlines(keepends=True)
        (folder / "logs.csv").write_text("".join(index[: most + 1]))
    return folder


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    made, folder = {}, tmp_path_factory.mktemp("runs")

    def give(name):
        if name not in made:
            made[name] = Source(name, open_run(RUNS[name](folder / name.replace(" ", "-"))))
        return made[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASSBOOK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield give


@pytest.fixture
def said(monkeypatch):
    texts = []
    monkeypatch.setattr(gaps, "display", lambda thing: texts.append(repr(thing)))
    return texts


def text_of(thing):
    """What a page shows of a table, a figure or figures for the prose."""
    if isinstance(thing, pd.DataFrame):
        shown = []
        substitution._plain(thing, SimpleNamespace(text=shown.append), False)
        return "".join(shown)
    if isinstance(thing, dict):
        return gaps.without_nan(" ".join(map(str, thing.values())))
    assert isinstance(thing, Figure)
    return repr(thing)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("run", RUNS)
def test_it_is_made_or_a_sentence_says_what_the_run_lacks(run_of, said, run, name):
    source = run_of(run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CassbookWarning)  # a sentence on a page
        warnings.simplefilter("error", RuntimeWarning)  # of numpy: a mean of nothing
        try:
            shown = text_of(MADE[name]([source]))
        except LackingError as error:
            shown = gaps.in_words(error)
            assert shown.endswith(".")
            assert len(shown) > 20
    assert not _NO_FIGURE.search(shown)


@pytest.mark.parametrize("name", ["prices", "saturation", "growth", "orders", "by threads", "coefficients"])
def test_what_one_run_lacks_leaves_the_others_in_the_table(run_of, said, name):
    """Where one run has nothing of the kind, a sentence stands next to the other run's table."""
    assert text_of(MADE[name]([run_of("mixes only"), STANDARD]))
    assert said == ["Mixes only has no reads or writes alone, only mixes."]


def test_the_printed_tables_are_served_as_before(said):
    assert not regressions.coefficients([Source(PUBLISHED)]).empty
    assert not said
