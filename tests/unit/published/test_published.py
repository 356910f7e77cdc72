"""The printed tables: complete, consistent with themselves, and loaded with useful errors."""

import re

import pandas as pd
import pytest

from cassbook import published
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.schema import LEVEL_STATS

THREADS = [10, 50, *range(100, 1001, 100)]


def test_names_lists_every_table_of_the_2020_paper():
    expected = {f"g20_table{number}" for number in range(1, 6)} | {"g20_equations"}
    expected |= {"g20_table1_averages", "g20_table2_averages"}
    assert expected <= set(published.names())


def test_names_lists_the_tables_and_formulas_of_all_five_texts():
    expected = {f"g21_table{number}" for number in range(1, 5)} | {f"d16_table{number}" for number in range(1, 6)}
    expected |= {"g21_scenarios", "thesis_equations", "thesis_table3_1", "pbs_ratios"}
    assert expected <= set(published.names())


@pytest.mark.parametrize(
    ("name", "rows"),
    [("g21_table1", 4 * 4), ("g21_table2", 4 * 2 * 3), ("g21_table3", 10 * 4 * 3), ("g21_table4", 10 * 4 * 3)],
)
def test_tables_of_the_2021_paper_are_complete(name, rows):
    df = published.table(name)
    assert len(df) == rows
    assert not df.duplicated([c for c in df.columns if c not in {"latency_ms", "throughput_per_s", "saturated"}]).any()
    assert (df.select_dtypes("number") > 0).all(axis=None)


def test_demands_and_formulas_are_numbers_where_they_are_printed():
    demands = published.table("d16_table2").pivot_table(index="class", columns="level", values="cpu_demand_ms")
    assert demands.shape == (5, 3)  # read-remote-return has none
    assert published.table("thesis_equations").groupby("equation")["coefficient"].count().tolist() == [5, 4, 4]


def test_a_cell_as_text_keeps_its_digits():
    assert published.as_text("g20_table3").loc[0, "r_squared"] == "0.9982"
    assert published.as_text("d16_table2").query("level == 'ALL'")["cpu_demand_ms"].tolist()[-1] == ""
    with pytest.raises(InputError, match="g21_table1"):
        published.as_text("nothing")


def test_every_name_loads_and_stands_in_the_readme():
    readme = (published.resource("data/published") / "README.md").read_text(encoding="utf-8")
    for name in published.names():
        assert len(published.table(name)) > 0
        assert f"{name}.csv" in readme


@pytest.mark.parametrize(("name", "operation"), [("g20_table1", "READ"), ("g20_table2", "WRITE")])
def test_level_tables_are_complete(name, operation):
    df = published.table(name)
    assert len(df) == 36
    assert df["threads"].unique().tolist() == THREADS
    assert set(df["operation"]) == {operation}
    assert df.groupby("threads")["level"].apply(list).map(tuple).unique().tolist() == [("ONE", "QUORUM", "ALL")]
    slowdowns = df[["latency_slowdown_percent", "throughput_slowdown_percent"]]
    assert slowdowns.isna().all(axis=1).tolist() == (df["level"] == "ONE").tolist()
    assert df.drop(columns=slowdowns.columns).notna().all(axis=None)


@pytest.mark.parametrize("number", [1, 2])
def test_columns_were_assigned_rightly(number):
    # The header of the text is misaligned. The printed slowdowns and averages tie the columns to each other.
    df = published.table(f"g20_table{number}")
    one = df[df["level"] == "ONE"].set_index("threads")
    rest = df[df["level"] != "ONE"]
    base = one.loc[rest["threads"]]
    latency = (rest["latency_us"].to_numpy() / base["latency_us"].to_numpy() - 1) * 100
    assert abs(latency - rest["latency_slowdown_percent"].to_numpy()).max() < 1
    throughput = (base["throughput_per_s"].to_numpy() / rest["throughput_per_s"].to_numpy() - 1) * 100
    off = abs(throughput - rest["throughput_slowdown_percent"].to_numpy()) > 1
    # the one row that contradicts itself, printed so: WRITE ALL at 10 threads
    assert rest[off][["operation", "level", "threads"]].to_numpy().tolist() == (
        [] if number == 1 else [["WRITE", "ALL", 10]]
    )


@pytest.mark.parametrize("number", [1, 2])
def test_averages_are_those_of_the_columns(number):
    printed = published.table(f"g20_table{number}_averages").set_index("level")
    columns = ["latency_slowdown_percent", "cv_percent", "throughput_slowdown_percent"]
    computed = published.table(f"g20_table{number}").groupby("level")[columns].mean().loc[printed.index]
    assert printed.shape[0] == 3
    assert ((computed - printed[columns]).abs().fillna(0) <= 1).all(axis=None)


def test_goodness_of_fit_has_each_model_once():
    df = published.table("g20_table3")
    assert len(df) == len(df[["operation", "level", "model"]].drop_duplicates()) == 24
    assert set(df["model"]) == {"linear", "order2", "order3", "order4"}
    assert df["r_squared"].between(0.99, 1).all()


@pytest.mark.parametrize("name", ["g20_table4", "g20_table5"])
def test_mixed_tables_are_complete(name):
    df = published.table(name)
    assert len(df) == len(df[["threads", "read_share", "setting"]].drop_duplicates()) == 12 * 12
    assert df["threads"].unique().tolist() == THREADS
    assert df["read_share"].unique().tolist() == [0.1, 0.3, 0.5, 0.9]


def test_deviations_stay_below_17_percent_as_the_paper_says():
    df = published.table("g20_table5")
    worst = df.loc[df["deviation_percent"].abs().idxmax()]
    assert (worst["threads"], worst["read_share"], worst["setting"]) == (10, 0.9, "3R-1W")
    assert abs(worst["deviation_percent"]) < 17


def test_each_workload_has_one_underlined_cell():
    underlined = published.table("g20_table5").groupby(["threads", "read_share"])["underlined"].sum()
    assert len(underlined) == 48
    assert (underlined == 1).all()


def test_equations_keep_digits_and_signs_as_printed():
    raw = pd.read_csv(published.resource("data/published") / "g20_equations.csv", dtype=str)
    assert len(raw) == 30
    fourth = raw[raw["power"] == "4"].set_index("equation")["coefficient"]
    assert fourth["3"] == "-9E-08"
    assert fourth["2"] == "9E-08"
    assert raw["coefficient"].map(lambda text: bool(re.fullmatch(r"-?\d+(\.\d+)?(E-\d\d)?", text))).all()


def test_equations_are_given_constant_first():
    equations = published.equations()
    assert set(equations) == {(o, c) for o in ("READ", "WRITE") for c in ("ONE", "QUORUM", "ALL")}
    raw = published.table("g20_equations").set_index(["operation", "level", "power"])["coefficient"]
    for (operation, level), coefficients in equations.items():
        assert coefficients == tuple(raw[operation, level, power] for power in range(5))


def test_level_stats_have_the_columns_of_the_schema():
    stats = published.level_stats()
    assert tuple(stats.columns) == LEVEL_STATS
    assert len(stats) == 72
    assert stats[["latency_low_us", "latency_high_us"]].isna().all(axis=None)
    assert (stats["blocks"] == 1).all()


def test_mixed_estimates_are_table_iv():
    estimates = published.mixed_estimates()
    assert list(estimates.columns) == ["setting", "read_share", "threads", "latency_us"]
    assert estimates["latency_us"].tolist() == published.table("g20_table4")["latency_us"].tolist()


def test_an_unknown_table_is_answered_with_the_known():
    with pytest.raises(InputError, match=r"'g20_table9' is unknown.*g20_table1.*g20_table5"):
        published.table("g20_table9")


def test_a_name_cannot_leave_the_folder():
    with pytest.raises(InputError, match="unknown"):
        published.table("../published/g20_table1")


def test_an_installation_without_tables_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(published, "resource", lambda name: tmp_path / name)
    with pytest.raises(LaboratoryError, match="no printed tables in"):
        published.names()
    with pytest.raises(LaboratoryError, match="no printed tables in"):
        published.table("g20_table1")
