"""A folder of logs in place of a run: what it says is what the run says that the logs were made from."""

import json
import re
import shutil

import numpy as np
import pytest

from cassbook.book import evidence
from cassbook.book import provenance as sources
from cassbook.book.chapters import cold_start, cold_start_figures, latency
from cassbook.core.errors import InputError, LackingError
from cassbook.core.schema import CELLS
from cassbook.ingest import totals
from cassbook.ingest.folder import open_run
from cassbook.ingest.log_folder import LogFolder
from cassbook.records.run import RecordedRun
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS
from tests.helpers.folder_of_logs import make

RUN = "quick-2.1.20"
HEADING = "file,engine,threads,read_cl,write_cl,read_share,block"


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASSBOOK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    path = tmp_path_factory.mktemp("few")
    make(path, RecordedRun(RUN), threads=(10,))
    return path


def index(folder, rows, heading=HEADING):
    (folder / "logs.csv").write_text("\n".join([heading, *rows]) + "\n")


def test_statistics_are_those_of_the_run_that_the_logs_are_from(few):
    ours, run = open_run(few), RecordedRun(RUN)
    assert isinstance(ours, LogFolder)
    assert list(ours.cells.columns) == list(CELLS)
    both = ours.statistics.merge(run.statistics, on="cell_id", suffixes=("", "_run"))
    assert len(both) == len(ours.cells) > 10
    # The logs' windows are cut a little differently: 0.2 s after the first request instead of after every thread's.
    np.testing.assert_allclose(both["latency_us"], both["latency_us_run"], rtol=0.03)
    np.testing.assert_allclose(both["throughput_per_s"], both["throughput_per_s_run"], rtol=0.05)
    np.testing.assert_allclose(both["little_ratio"], 1, atol=0.05)
    assert (both["kind"] == both["kind_run"]).all()


def test_samples_come_by_cell_with_their_ramp(few):
    ours = open_run(few)
    cell = ours.cells["cell_id"].iloc[0]
    samples = ours.samples(cells=[cell])
    assert set(samples["cell_id"]) == {cell}
    assert ((samples["started_s"] < 0.2) == (samples["phase"] == "warmup")).all()
    assert len(samples) == ours.cells["operations"].iloc[0]
    assert ours.has_samples(cell)
    assert list(ours.samples(["latency_us"]).columns) == ["latency_us"]


def test_the_hash_follows_logs_and_index(few, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(few, copy)
    before = open_run(copy).data_hash
    assert before == open_run(few).data_hash
    log = next(copy.glob("*.txt"))
    log.write_text(log.read_text().rstrip("\n").rsplit("\n", 1)[0] + "\n")
    assert open_run(copy).data_hash != before


def test_logs_of_one_cell_id_are_its_clients(tmp_path):
    for name in ("client-1.txt", "client-2.txt"):
        shutil.copy(LOGS / "ycsb-0.17.0" / name, tmp_path)
    rows = [f"client-{n}.txt,2.1.20,8,ONE,ALL,0.5,1,together" for n in (1, 2)]
    index(tmp_path, rows, HEADING + ",cell_id")
    ours = open_run(tmp_path)
    (cell,) = ours.cells.to_dict("records")
    assert (cell["cell_id"], cell["kind"], cell["client_processes"]) == ("together", "mixed", 2)
    counted = [int(part.partition(":")[2]) for part in cell["errors"].split(";")]
    assert sum(counted) == ours.statistics["n_errors"].iloc[0] > 0


def test_histograms_and_figures_give_statistics_and_no_samples(tmp_path):
    shutil.copy(LOGS / "ycsb-0.17.0" / "READ.hdr", tmp_path)
    shutil.copy(LOGS / "ycsb-0.17.0" / "summary.txt", tmp_path)
    shutil.copy(LOGS / "stress-2.1.20" / "write.log", tmp_path)
    shutil.copy(LOGS / "ycsb-0.17.0" / "raw.txt", tmp_path)
    names = {"READ.hdr": 1, "summary.txt": 0.5, "write.log": 0, "raw.txt": 0.5}
    index(tmp_path, [f"{name},2.1.20,4,ONE,ONE,{share},1" for name, share in names.items()])
    ours = open_run(tmp_path)
    stats = ours.statistics.set_index("cell_id")
    assert [ours.has_samples(cell_id) for cell_id in ("READ", "summary", "write", "raw")] == [False, False, False, True]
    assert (stats["latency_us"] > 0).all()
    assert (stats["throughput_per_s"] > 0).all()
    text = dict(line.rsplit(", ", 1) for line in (tmp_path / "summary.txt").read_text().splitlines())
    assert stats.loc["summary", "read_latency_us"] == pytest.approx(float(text["[READ], AverageLatency(us)"]))
    assert np.isnan(stats.loc["summary", "p95_us"])  # of several operations together nothing is known
    assert stats.loc["write", "n_ok"] == 6000
    assert stats.loc["READ", "read_latency_us"] == stats.loc["READ", "latency_us"]
    assert ours.samples(cells=["READ"]).empty
    assert len(ours.samples()) == ours.cells.set_index("cell_id").loc["raw", "operations"]


def test_a_folder_of_histograms_alone_has_statistics(tmp_path):
    shutil.copy(LOGS / "stress-3.11.4" / "mixed.hdr", tmp_path)
    index(tmp_path, ["mixed.hdr,3.11.4,20,ONE,ONE,0.75,1"])
    ours = open_run(tmp_path)
    (cell,) = ours.statistics.to_dict("records")
    console = (LOGS / "stress-3.11.4" / "mixed.log").read_text()
    shown = re.search(r"Latency mean\s*:\s+([\d.]+) ms +\[READ: ([\d.]+) ms, WRITE: ([\d.]+) ms\]", console)
    means = [cell[name] / 1000 for name in ("latency_us", "read_latency_us", "update_latency_us")]
    assert means == pytest.approx([float(text) for text in shown.groups()], abs=0.06)
    assert ours.samples().empty


def test_failures_that_only_a_summary_tells_are_counted(tmp_path):
    shutil.copy(LOGS / "ycsb-0.17.0" / "summary-histogram.txt", tmp_path)
    index(tmp_path, ["summary-histogram.txt,2.1.20,4,ONE,ONE,0.5,1"])
    text = (tmp_path / "summary-histogram.txt").read_text()
    counted = dict(re.findall(r"^\[(\S+)\], Operations, (\d+)$", text, re.MULTILINE))
    (cell,) = open_run(tmp_path).statistics.to_dict("records")
    assert cell["n_errors"] == sum(int(n) for name, n in counted.items() if name.endswith("-FAILED")) > 0
    aside = ("CLEANUP", "READ-MODIFY-WRITE")  # whose read and update count by themselves
    good = {name: int(n) for name, n in counted.items() if not name.endswith("-FAILED") and name not in aside}
    assert cell["n_ok"] == sum(good.values())


def test_what_no_log_holds_is_a_sentence(tmp_path):
    with pytest.raises(LackingError, match="no warm-up was recorded"):
        cold_start_figures.settling({})
    shutil.copy(LOGS / "ycsb-0.17.0" / "READ.hdr", tmp_path)
    index(tmp_path, ["READ.hdr,2.1.20,4,ONE,ONE,1,1"])
    sums = sources.Source("sums", open_run(tmp_path))
    with pytest.raises(LackingError, match="no single requests to draw"):
        cold_start_figures.raw_delays([sums], 500)
    with pytest.raises(LackingError, match="no warm-up was recorded"):
        cold_start.warm_up_factors([sums])
    with pytest.raises(LackingError, match=r"single operations .*histograms"):
        latency.distributions_of(sums, threads=(100, 500))


def test_describe_says_what_logs_do_not_tell(few):
    described = evidence.describe([sources.Source(sources.RECORDED, open_run(few))])[sources.RECORDED]
    assert (described["Cassandra"], described["machine"]) == ("2.1.20", "logs do not tell")
    assert not {"Java", "processor", "measured, UTC", "seconds a cell"} & set(described.index)


@pytest.mark.parametrize(
    ("heading", "row", "message"),
    [
        ("file,engine", "raw.txt,2.1.20", r"no column threads, read_cl"),
        (HEADING + ",rnadom", "raw.txt,2.1.20,4,ONE,ONE,1,1,x", r"unknown column rnadom"),
        (HEADING, "nowhere.txt,2.1.20,4,ONE,ONE,1,1", r"line 2: 'nowhere\.txt' does not exist"),
        (HEADING, "raw.txt,2.1.20,4,ALLL,ONE,1,1", r"line 2: read_cl 'ALLL' is no level; use ANY, "),
        (HEADING, "raw.txt,2.1.20,4,ONE,quorum,1,1", r"line 2: write_cl 'quorum' is no level"),
        (HEADING, "raw.txt,2.1.20,four,ONE,ONE,1,1", r"line 2: threads 'four' is no whole number"),
        (HEADING, "raw.txt,2.1.20,4,ONE,ONE,50,1", r"line 2: read_share 50 is no share"),
        (HEADING, "raw.txt,2.1.20,4,ONE,ONE,1,1\nraw.txt,2.1.20,4,ONE,ONE,1,1", r"raw\.txt is named twice"),
        (
            HEADING + ",cell_id",
            "raw.txt,2.1.20,4,ONE,ONE,1,1,a\nraw-failed.txt,2.1.20,8,ONE,ONE,1,1,a",
            r"the logs of cell a differ in threads",
        ),
    ],
)
def test_a_wrong_index_is_refused_with_line_and_column(tmp_path, heading, row, message):
    for name in ("raw.txt", "raw-failed.txt"):
        shutil.copy(LOGS / "ycsb-0.17.0" / name, tmp_path)
    index(tmp_path, [row], heading)
    with pytest.raises(InputError, match=message):
        open_run(tmp_path)


def test_a_cell_that_there_is_not_is_refused(few):
    with pytest.raises(InputError, match="has no cell 'x'"):
        open_run(few).samples(cells=["x"])


@pytest.mark.parametrize(
    ("tag", "operation"),
    [
        ("READ", "READ"),
        ("HdrREAD", "READ"),
        ("insert-st", "WRITE"),
        ("b1-t0010-read-ONE.READ", "READ"),
        ("read-rt", None),
        ("read-wt", None),
        ("c.READ.response", None),
        ("Intended-READ", None),
        ("CLEANUP", None),
        ("READ-FAILED", None),
    ],
)
def test_what_a_tag_stands_for(tag, operation):
    assert totals.operation_of(tag) == operation


def compare(*arguments):
    return cassbook("compare", *arguments)


@pytest.fixture
def few_operations(tmp_path):
    """Two folders of one operation each: no window has a length, so no throughput is known."""
    folders = [tmp_path / name / "logs" for name in ("one", "two")]
    for folder in folders:
        folder.mkdir(parents=True)
        rows = re.findall(r"(?m)^READ,.*$", (LOGS / "ycsb-0.17.0" / "raw.txt").read_text())
        (folder / "raw.txt").write_text(rows[0] + "\n")
        index(folder, ["raw.txt,2.1.20,4,ONE,ONE,1,1"])
    return folders


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_folders_of_few_operations_are_compared(few_operations):
    result = compare(*few_operations, "--format", "json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert [content[side]["label"] for side in ("first", "second")] == ["one/logs", "two/logs"]
    ratios = {row["figure"]: (row["ratio"], row["distinguishable"]) for row in content["figures"]}
    assert set(ratios.values()) <= {(1.0, None), (None, None)}
    text = compare(*few_operations, "--format", "text")
    assert "one/logs two/logs" in re.sub(" +", " ", text.output)


@pytest.mark.parametrize("name", ["raw.txt", "mixed.log", "READ.hdr", "summary.txt"])
def test_a_folder_of_one_log_needs_no_index_and_one_log_no_folder(tmp_path, name):
    source = next(LOGS.glob(f"*/{name}"))
    shutil.copy(source, tmp_path)
    (tmp_path / "README.md").write_text("what was measured")
    result = compare(tmp_path, source, "--format", "json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert (content["first"]["engine"], content["second"]["run"]) == ("unknown", name)
    assert {row["threads"] for row in content["figures"]} == ({20} if name == "mixed.log" else {None})
    kinds = {(row["kind"], row["operation"]) for row in content["figures"]}
    rmw = {"raw.txt": "RMW", "summary.txt": "READ-MODIFY-WRITE"}.get(name)
    of_ycsb = {("mixed", operation) for operation in ("READ", "UPDATE", "INSERT", "SCAN", rmw)}
    of_a_mix = {("mixed", "READ"), ("mixed", "WRITE")} if name == "mixed.log" else of_ycsb
    assert kinds == ({("pure", "READ")} if name == "READ.hdr" else {("mixed", "workload mixed"), *of_a_mix})
    assert np.isnan(open_run(tmp_path).statistics["little_ratio"].iloc[0])


def test_a_folder_of_several_logs_without_an_index_is_told_to_write_one(tmp_path):
    for number in (1, 2):
        shutil.copy(LOGS / "ycsb-0.17.0" / f"client-{number}.txt", tmp_path)
    result = compare(tmp_path, "quick-2.1.20")
    assert result.exit_code == 2
    assert f"{tmp_path}: holds 2 logs (client-1.txt, client-2.txt) and no logs.csv" in result.output
    assert HEADING in result.output
    assert "cell_id" in result.output


def test_a_folder_without_a_log_is_refused(tmp_path):
    result = compare(tmp_path, "quick-2.1.20")
    assert result.exit_code == 2
    assert "no manifest.json) nor a folder of logs (no logs.csv" in result.output


def test_what_two_logs_hold_is_named_where_nothing_is_alike():
    result = compare(LOGS / "stress-2.1.20" / "mixed.log", LOGS / "ycsb-0.17.0" / "raw.txt")
    assert result.exit_code == 2
    assert "mixed.log: mixed workload mixed unknown/unknown, 20 threads. raw.txt: mixed" in result.output
