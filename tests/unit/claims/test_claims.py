"""The ledger of claims: agreement by printed precision, verdicts that can fail, and a snapshot of all of them."""

import csv
import functools
import json
import random
import re
import shutil
import sys
from collections import Counter

import pytest

from cassbook import published
from cassbook.claims import ledger_text, registry
from cassbook.claims.g20.choices import least_of, score
from cassbook.claims.g20.derived import OF_ITSELF, OF_ONE
from cassbook.claims.g20.little import deficit_of
from cassbook.claims.g20.origin import chances
from cassbook.claims.g20.settings import edge_speedups
from cassbook.claims.g20.slips import Row, borne_out, broken_rows, excluded_by_table4, row_repairs
from cassbook.claims.g20.source import coefficient, estimate, fitted, influence, r_squared, table4
from cassbook.claims.interval import as_printed, exactly, high, interval, low, middle, numbers_in, overlap
from cassbook.claims.registry import ledger, with_ids
from cassbook.claims.statement import PAPERS, VERDICTS, Answer, Count, Statement, Untestable, agrees, judge, spell
from cassbook.claims.typos import repairs
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.paths import project_root
from cassbook.latency import regression
from tests.helpers.command import cassbook
from tests.helpers.data import DATA
from tests.helpers.table_differences import agree, differences, stored
from tests.helpers.texts import KEYS, PARSED, parsers

SNAPSHOT = DATA / "claims.csv"
RENEW = "if this is meant: cassbook claims --format csv > tests/data/claims.csv"


@pytest.fixture(scope="module")
def findings():
    return ledger()


# Printed precision


@pytest.mark.parametrize(
    ("text", "hedged", "ends"),
    [
        ("17", False, (16.5, 17.5)),
        ("-3.4", False, (-3.45, -3.35)),
        ("0.9980", False, (0.99795, 0.99805)),
        ("9E-08", False, (8.5e-8, 9.5e-8)),
        ("13000", True, (12500, 13500)),
        ("12500", True, (12450, 12550)),
        ("800", True, (750, 850)),
        ("0", True, (-0.5, 0.5)),
    ],
)
def test_a_printed_number_is_all_that_rounds_to_it(text, hedged, ends):
    value = as_printed(text, hedged)
    assert (low(value), high(value)) == pytest.approx(ends, rel=1e-12)


def test_numbers_of_a_phrase_and_its_hedge():
    assert [middle(x) for x in numbers_in("800-1000 ms")] == [800, 1000]
    assert low(numbers_in("around 13000")[0]) == 12500
    assert [middle(x) for x in numbers_in("QUORUM of R2")] == []
    for word in ("thirteen", "nan", "inf", ""):
        with pytest.raises(InputError):
            as_printed(word)


def test_almost_is_just_below():
    (value,) = numbers_in("almost 25%")
    assert (low(value), high(value)) == (24, 25)


def test_arithmetic_carries_the_rounding():
    slowdown = (as_printed("8311") / as_printed("8120") - 1) * 100
    assert low(slowdown) <= (8310.5 / 8120.5 - 1) * 100 <= high(slowdown)
    assert low(slowdown) == pytest.approx((8310.5 / 8120.5 - 1) * 100)
    assert high(slowdown) == pytest.approx((8311.5 / 8119.5 - 1) * 100)


# Verdicts, each of which can fail


def verdict(printed, answer, relation="equals"):
    return judge(Statement("g20-x", "here", "words", printed, relation), "g20", answer, "f").verdict


@pytest.mark.parametrize(
    ("printed", "relation", "answer", "expected"),
    [
        ("13%", "equals", Answer(exactly("13.49")), "reproduced"),
        ("13%", "equals", Answer(exactly("13.51")), "other_reading"),  # cut, not rounded
        ("13%", "equals", Answer(exactly("14.01")), "not_reproduced"),
        ("13%", "equals", Answer(interval("13.4", "13.6")), "reproduced"),
        ("13%", "equals", Answer(20.0, {"so": 13.2}), "other_reading"),
        ("13%", "equals", Answer(20.0, {"so": 14.2}), "not_reproduced"),
        ("13%", "equals", Answer(None, {"so": 13.2}), "other_reading"),
        ("13%", "equals", Untestable("lost"), "untestable"),
        ("7%", "below", Answer(6.98), "reproduced"),
        ("7%", "below", Answer(7.01), "not_reproduced"),
        ("7%", "above", Answer(6.98), "not_reproduced"),
        ("all", "equals", Answer(Count(3, 3)), "reproduced"),
        ("all", "equals", Answer(Count(2, 3)), "not_reproduced"),
        ("2R-2W", "equals", Answer("2R-2W"), "reproduced"),
        ("2R-2W", "equals", Answer("1R-3W"), "not_reproduced"),
        ("13% and 26%", "equals", Answer((13.0, 26.0)), "reproduced"),
        ("13% and 26%", "equals", Answer((26.0, 13.0)), "not_reproduced"),
    ],
)
def test_verdicts_follow_the_precision_of_the_print(printed, relation, answer, expected):
    assert verdict(printed, answer, relation) == expected


def test_the_other_reading_is_named_with_its_value():
    finding = judge(Statement("g20-x", "here", "words", "13%"), "g20", Answer(20.5, {"of ONE": 13.2}, "Why."), "f")
    assert finding.reading == "of ONE"
    assert finding.note == "Agrees if read as: of ONE (13.20%). Why."
    assert finding.recomputed == "20.50%"


def test_a_bound_is_shown_as_the_bound():
    finding = judge(Statement("g20-x", "here", "words", "17%", "below"), "g20", Answer(16.2), "f")
    assert (finding.printed_low, finding.printed_high) == (17, 17)


@pytest.mark.parametrize(
    ("value", "printed", "spelled"),
    [
        (interval("13.20", "13.22"), "13%", "13.21%"),
        (interval("13050.5", "13051.5"), "around 13000", "13051"),
        (interval("0.997864", "0.997866"), "0.9980", "0.997865"),
        (exactly("6"), "6", "6"),
        (8.7e-8, "9E-08", "8.70E-08"),
        (Count(3, 4), "all", "3 of 4"),
        ((1.0, 2.5), "1 and 2", "1, 2.50"),
    ],
)
def test_values_are_spelled_to_the_digits_that_mean_something(value, printed, spelled):
    assert spell(value, printed) == spelled


def test_a_phrase_and_a_value_of_different_size_are_refused():
    with pytest.raises(InputError, match=r"g20-x: '13% and 26%' .* 2 .* 1"):
        agrees(Statement("g20-x", "here", "words", "13% and 26%"), 13.0)


def test_the_same_claim_twice_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "_entries", [])
    for _ in range(2):
        registry.claim("g20-twice", "here", "words", "1")(lambda: 1.0)
    monkeypatch.setattr(registry, "_MODULES", ())
    with pytest.raises(InputError, match="g20-twice"):
        ledger()


def test_an_id_says_its_paper():
    with pytest.raises(InputError, match="'other' is unknown"):
        registry.claim("other-claim", "here", "words", "1")


# What the 2020 paper's claims rest on, found another way


def test_regressions_with_rounding_hold_the_library_s():
    stats = published.level_stats()
    for (operation, level), group in stats.groupby(["operation", "level"]):
        for order in (1, 2, 3, 4):
            fit = regression.fit(group["threads"], group["latency_us"], order)
            assert (
                low(r_squared((operation, level), order)) < fit.r_squared < high(r_squared((operation, level), order))
            )
            at = fitted((operation, level), 500, order)
            assert low(at) < fit.predict(500.0) < high(at)
        for power in range(5):
            interval = coefficient((operation, level), power)
            assert low(interval) < fit.coefficients[power] < high(interval)


def test_rounding_bounds_are_those_of_the_worst_corner():
    """A latency moved by half a microsecond moves the fit no further than the interval says, and up to its end."""
    group = published.level_stats().query("operation == 'READ' and level == 'ONE'")
    bounds = fitted(("READ", "ONE"), 10)
    rng = random.Random(1)  # noqa: S311 - not a secret
    reached = []
    for _ in range(200):
        moved = group["latency_us"] + [rng.choice((-0.5, 0.5)) for _ in range(len(group))]
        reached.append(regression.fit(group["threads"], moved, 4).predict(10.0))
    assert low(bounds) <= min(reached) <= max(reached) <= high(bounds)
    assert max(reached) - min(reached) > 0.7 * (high(bounds) - low(bounds))


def test_leaving_a_point_out_leaves_it_out():
    group = published.level_stats().query("operation == 'WRITE' and level == 'ALL' and threads != 300")
    alone = regression.fit(group["threads"], group["latency_us"], 2).predict(300.0)
    assert middle(fitted(("WRITE", "ALL"), 300, 2, 300)) == pytest.approx(alone)
    assert middle(fitted(("WRITE", "ALL"), 300, 2)) != pytest.approx(alone)
    assert middle(estimate((300, "0.5", "1R-3W"), 2, 300)) != pytest.approx(middle(estimate((300, "0.5", "1R-3W"), 2)))


def test_influence_is_what_a_moved_cell_does():
    group = published.level_stats().query("operation == 'READ' and level == 'ALL'")
    moved = group["latency_us"].mask(group["threads"] == 50, group["latency_us"] + 100)
    before, after = (regression.fit(group["threads"], y, 4).predict(400.0) for y in (group["latency_us"], moved))
    assert influence(("READ", "ALL"), 50, 400) == pytest.approx((after - before) / 100)


def test_repairs_by_keystrokes():
    assert repairs("4", lambda new: new == "14") == ["14"]  # put in
    assert repairs("104", lambda new: new == "14") == ["14"]  # left out
    assert repairs("13", lambda new: new in {"31", "18", "99"}) == ["18", "31"]  # changed, swapped
    assert repairs("1", lambda new: new in {"0", "01"}) == ["0"]
    assert repairs("921", lambda new: new == "1021") == []
    assert repairs("921", lambda new: new in {"1021", "922"}, keystrokes=2) == ["1021"]


def test_the_slip_of_table_2_is_found_and_those_of_table_1_are_excluded():
    first, second = broken_rows()
    assert (first.operation, first.level, first.threads, first.quantity) == ("READ", "QUORUM", 10, "latency")
    assert all(excluded_by_table4(first, r) for r in row_repairs(first, OF_ONE) if r.number != "percent")
    assert borne_out(first) == []
    assert (second.operation, second.level, second.threads, second.quantity) == ("WRITE", "ALL", 10, "throughput")
    assert [str(repair) for repair in row_repairs(second, OF_ONE)] == ["percent 4 to 14"]
    assert {str(repair) for repair in borne_out(second)} == {"ALL 921 to 1021"}
    assert round((1066 / 1021 - 1) * 100) == 4
    assert row_repairs(Row("WRITE", "ALL", 50, "throughput"), OF_ITSELF)  # there always are some; none is asked for


def test_scores_of_policies():
    share, count = score(least_of(lambda key: table4()[key]))
    assert (count.right, count.total) == (45, 48)
    assert middle(share) == pytest.approx(93.75)
    assert score(lambda n, s: "none")[1].right == 0
    assert score(lambda n, s: "1R-3W", [10])[1].total == 4


def test_chances_fall_with_scatter_and_stay_chances():
    plain, wider = chances(), chances(1.0)
    assert plain.shape == (144,)
    assert ((plain > 0) & (plain < 1)).all()
    assert (wider < plain).all()


def test_savings_at_the_edge_by_the_library_s_fits():
    stats = published.level_stats().query("operation == 'WRITE'")
    fits = {level: regression.fit(g["threads"], g["latency_us"], 4) for level, g in stats.groupby("level")}
    always = fits["ALL"].predict([100.0, 900.0])
    best = [min(fits[level].predict(n) for level in fits) for n in (100.0, 900.0)]
    of_baseline, of_best = edge_speedups([100, 900])
    assert middle(of_baseline) == pytest.approx(100 * (1 - best / always).mean(), abs=0.01)
    assert middle(of_best) == pytest.approx(100 * (always / best - 1).mean(), abs=0.01)


def test_runs_of_reads_are_longer_by_a_time_and_of_writes_by_a_factor():
    assert deficit_of("READ").verdict == "additive"
    assert deficit_of("WRITE").verdict == "one factor"
    assert 1 < deficit_of("READ").seconds < 2


# The ledger as a whole


def test_there_are_enough_claims_and_each_is_complete(findings):
    kinds = Counter((finding.paper, finding.kind) for finding in findings)
    for paper, least in {"g20": 40, "g21": 20, "d16": 15, "thesis": 12, "pbs": 8}.items():
        assert kinds[paper, "text"] >= least, paper
    for finding in findings:
        assert finding.paper in PAPERS
        assert finding.verdict in VERDICTS
        assert finding.quote
        assert finding.location
        assert finding.printed or finding.asked
        assert bool(finding.reading) == (finding.verdict == "other_reading")
        if finding.verdict == "untestable":
            assert finding.note, f"{finding.id} does not say why"
        else:
            assert finding.recomputed
            module, _, name = finding.function.rpartition(".")
            assert functools.reduce(getattr, [name], sys.modules[module]).__doc__, finding.function


def test_quotations_are_short(findings):
    assert max(len(finding.quote.split()) for finding in findings) <= 30


def test_every_untestable_statement_follows_a_claim(findings):
    """A row whose `after` names no claim would be lost in silence."""
    listed = {statement.id for following in registry.untestable().values() for statement, _ in following}
    assert listed == {finding.id for finding in findings if not finding.function}


def rows_of(text):
    return {row["id"]: row for row in csv.DictReader(text.splitlines())}


#: Columns of prose and names, which may be put better: held to be there, not to the letter.
PROSE = {"note", "reading", "function"}


def changes(before, after):
    """What differs between two ledgers, claim by claim."""
    lines = [f"{name}: no longer claimed" for name in before.keys() - after.keys()]
    lines += [f"{name}: new" for name in after.keys() - before.keys()]
    for name in before.keys() & after.keys():
        for column, old in before[name].items():
            new = after[name][column]
            if bool(new) != bool(old) or (column not in PROSE and new != old):
                lines.append(f"{name} ({before[name]['location']}), {column}: {old!r}, now {new!r}")
    return sorted(lines)


def test_the_ledger_is_as_it_was(findings):
    now = rows_of(ledger_text.as_csv(findings))
    differing = changes(rows_of(SNAPSHOT.read_text(encoding="utf-8")), now)
    assert not differing, "\n".join([*differing[:40], RENEW])


# A changed digit is noticed, with its row and what it breaks


def forget():
    """Drop what the claims keep of the printed tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cassbook.claims"):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


@pytest.fixture
def altered(monkeypatch, tmp_path):
    """Change one cell of a copy of the printed tables and give the ledger of a paper that follows."""

    def alter(name, key, column, new, paper):
        copy = tmp_path / "published"
        shutil.copytree(published.resource("data/published"), copy)
        table = stored(copy / f"{name}.csv")
        at = functools.reduce(lambda left, right: left & right, [table[k] == v for k, v in key.items()])
        assert at.sum() == 1
        table.loc[at, column] = new
        table.to_csv(copy / f"{name}.csv", index=False)
        monkeypatch.setattr(published, "resource", lambda _: copy)
        forget()
        return rows_of(ledger_text.as_csv(ledger(papers=[paper])))

    yield alter
    monkeypatch.undo()
    forget()


def keys_of(text):
    return {name: value.replace("+", " ") for name, value in (part.split("=", 1) for part in text.split())}


@pytest.mark.parametrize(
    ("name", "key", "column", "new", "broken"),
    [
        ("g20_table1", "threads=300 level=ALL", "latency_us", "41826", "table1-latency-slowdown-all-300"),
        ("g20_table1", "threads=50 level=ONE", "throughput_per_s", "3825", "table1-throughput-slowdown-all-50"),
        ("g20_table1", "threads=800 level=QUORUM", "cv_percent", "89", "table1-average-cv-quorum"),
        ("g20_table2", "threads=900 level=ALL", "latency_slowdown_percent", "63", "checksum-table2-latency-all"),
        (
            "g20_table2_averages",
            "level=QUORUM",
            "throughput_slowdown_percent",
            "8",
            "checksum-table2-throughput-quorum",
        ),
        ("g20_table3", "operation=WRITE level=ALL model=order3", "r_squared", "0.9975", "table3-write-all-order3"),
        ("g20_table4", "threads=600 read_share=0.5 setting=2R-2W", "latency_us", "57821", "table4-0.5-2r-2w-600"),
        ("g20_table5", "threads=10 read_share=0.9 setting=2R-2W", "deviation_percent", "-13.6", "table5-0.9-2r-2w-10"),
        ("g20_equations", "equation=6 power=1", "coefficient", "78.902", "equation6-x1"),
        ("g21_table2", "scenario=a operation=READ level=ONE", "throughput_per_s", "26830", "a-over-c"),
        ("g21_table4", "threads=300 scenario=b operation=WRITE level=QUORUM", "latency_ms", "137.43", "table4-order-b"),
        ("d16_table4", "level=ONE", "average_error_percent", "7.79", "all-below-7"),
        ("d16_table3", "component=Network+Data", "demand_ms", "0.1433", "6800"),
        ("thesis_table3_1", "workload=D-Read+Latest", "read_percent", "96", "table3-1-d"),
        ("pbs_ratios", "operation=WRITE worse=R=1,W=2", "ratio", "9.8", "forensic-write-order"),
    ],
)
def test_a_changed_digit_breaks_the_claim_of_its_row(altered, findings, name, key, column, new, broken):
    paper = name.partition("_")[0]
    broken = f"{paper}-{broken}"
    before = rows_of(ledger_text.as_csv([finding for finding in findings if finding.paper == paper]))
    after = altered(name, keys_of(key), column, new, paper)
    changed = changes(before, after)
    judged = [[ledger[broken][column] for column in ("verdict", "finding")] for ledger in (before, after)]
    assert judged[0] != judged[1], changed  # a slip that an average bears out is by_id as one
    assert any(line.startswith(broken) for line in changed)


def test_a_table_that_is_cut_short_is_named_with_the_claim(altered, monkeypatch, tmp_path):
    altered("g20_table4", {"threads": "10", "read_share": "0.1", "setting": "1R-3W"}, "latency_us", "9324", "g20")
    path = tmp_path / "published" / "g20_table4.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-30]))
    forget()
    with pytest.raises(LaboratoryError, match=r"cassbook\.claims\.g20\.\w+\.\w+ .*damaged"):
        ledger(papers=["g20"])


def one_digit_off(text, rng):
    place = rng.choice([i for i, c in enumerate(text) if c.isdigit()])
    return text[:place] + str((int(text[place]) + rng.randint(1, 9)) % 10) + text[place + 1 :]


@pytest.mark.parametrize("name", parsers)
def test_a_changed_digit_is_told_from_the_text(name):
    """In every column of numbers of every table: the comparison with the parsed text names table, row and column."""
    rng = random.Random(name)  # noqa: S311 - not a secret
    text = stored(PARSED / f"{name}.csv")
    table = stored(published.resource("data/published") / f"{name}.csv")[text.columns]
    same = functools.partial(agree, name)
    for column in table.columns.difference(KEYS[name]):
        numbers = [i for i, cell in enumerate(table[column]) if any(c.isdigit() for c in cell)]
        for i in rng.sample(numbers, min(3, len(numbers))):
            wrong = table.copy()
            wrong.loc[i, column] = one_digit_off(table.loc[i, column], rng)
            messages = differences(name, text, wrong, ("text", "published"), same)
            row = ", ".join(f"{key}={table.loc[i, key]}" for key in KEYS[name])
            assert len(messages) == 1
            assert messages[0].startswith(f"{name}: row {row}, column {column}: ")


@pytest.mark.parametrize("share", ["0.1", "0.9"])
def test_measured_mixes_would_be_believed(altered, monkeypatch, share):
    """Deviations that do not follow from the other tables turn the verdict on the verification of the 2020 paper."""
    rng = random.Random(share)  # noqa: S311 - not a secret
    table = stored(published.resource("data/published") / "g20_table5.csv")
    noisy = [f"{float(text) + rng.choice((-1, 1)) * rng.uniform(0.5, 3):.1f}" for text in table["deviation_percent"]]
    before = altered("g20_table5", {"threads": "10", "read_share": share, "setting": "2R-2W"}, "deviation_percent",
                     noisy[0], "g20")  # fmt: skip
    assert before["g20-verification"]["verdict"] == "not_reproduced"
    copy = published.resource("")
    table["deviation_percent"] = noisy
    table.to_csv(copy / "g20_table5.csv", index=False)
    forget()
    after = rows_of(ledger_text.as_csv(ledger(papers=["g20"])))
    assert after["g20-verification"]["verdict"] == "reproduced"


# The command


def test_the_command_lists_them_in_three_formats(findings):
    listed = json.loads(cassbook("claims", "--format", "json", catch_exceptions=False).stdout)
    assert [claim["id"] for claim in listed] == [finding.id for finding in findings]
    assert {"id", "paper", "location", "quote", "printed", "recomputed", "verdict", "note"} <= set(listed[0])
    table = cassbook("claims", "--format", "md", "--paper", "pbs", catch_exceptions=False).stdout
    rows = table.strip().splitlines()
    assert len(rows) - 2 == sum(finding.paper == "pbs" for finding in findings)
    assert len({row.replace("\\|", "").count("|") for row in rows}) == 1
    text = cassbook("claims", "--format", "csv", catch_exceptions=False).stdout
    assert list(rows_of(text)) == [finding.id for finding in findings]


def test_a_claim_that_is_named_is_told_in_full(findings):
    said = cassbook("claims", "--id", "d16-6800", "--id", "g20-verification").stdout
    assert max(map(len, said.splitlines())) <= 100
    by_id = dict(zip(("d16-6800", "g20-verification"), said.split("\n\n"), strict=True))
    for finding in findings:
        if finding.id in by_id:
            flat = " ".join(by_id[finding.id].split())
            assert all(text in flat for text in (finding.id, finding.quote, finding.printed, finding.recomputed))
            assert finding.note in flat
    assert by_id["d16-6800"].startswith("d16-6800: reproduced\n  location    Dipietro 2016, section 5.1\n")
    other = cassbook("claims", "--id", "dd-680")
    assert other.exit_code == 2
    assert "there is no 'dd-680'; the nearest are" in other.stderr


def test_a_run_is_put_to_the_claims_it_can_test():
    run = str(project_root() / "data" / "records" / "quick-2.1.20")
    command = ["claims", "--run", run, "--paper", "g20", "--format", "json"]
    listed = json.loads(cassbook(*command, catch_exceptions=False).stdout)
    measured = {claim["id"]: claim["measured"] for claim in listed if claim["measured"]}
    assert len(measured) >= 10
    assert measured["g20-conclusion-read-latency"].endswith("% (no interval: a run needs 3 blocks)")
    assert {claim["measured_by"] for claim in listed if claim["measured"]} == {"2.1.20, quick-2.1.20"}


def test_a_number_of_a_run_comes_with_its_interval_and_a_verdict():
    command = ["claims", "--run", "standard-2.1.20", "--id", "g20-conclusion-read-latency", "--format", "json"]
    (claim,) = json.loads(cassbook(*command, catch_exceptions=False).stdout)
    value, low_end, high_end = map(float, re.findall(r"[\d.]+", claim["measured"]))
    assert low_end < value < high_end
    assert claim["measured_verdict"] == ("reproduced" if low_end <= 26.5 and high_end >= 25.5 else "not_reproduced")
    assert claim["measured_price"] == "capacity"


def test_a_run_without_reads_and_writes_alone_is_answered_for():
    run = str(project_root() / "data" / "records" / "thesis-2-3.11.4")
    command = ["claims", "--run", run, "--paper", "g20", "--format", "json"]
    listed = json.loads(cassbook(*command, catch_exceptions=False).stdout)
    said = {claim["id"]: claim["measured"] for claim in listed if claim["measured"]}
    assert said
    assert all(words.startswith("not in this run: ") for words in said.values())
    assert "not in this run: reads alone and writes alone" in said.values()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "nowhere"], "nowhere: there is no record"),
        (["--id", "g20-speed"], "'g20-speed'; the nearest are g20-speedup"),
        (["--paper", "g19"], "'g19' is unknown; use one of g20, pbs, g21, thesis, d16"),
    ],
)
def test_what_cannot_be_asked_is_refused_plainly(arguments, message):
    done = cassbook("claims", *arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_one_claim_can_be_asked_for(findings):
    (finding,) = with_ids(findings, ["g20-speedup"])
    listed = cassbook("claims", "--id", "g20-speedup", "--format", "json", catch_exceptions=False)
    assert json.loads(listed.stdout)[0]["recomputed"] == finding.recomputed


def test_overlap_is_symmetric():
    assert overlap(interval(0, 1), interval(1, 2))
    assert not overlap(interval(0, 1), interval(1.5, 2))
