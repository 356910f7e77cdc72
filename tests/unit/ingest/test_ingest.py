"""Logs that the tools wrote themselves (tests/data/logs) against what the same tools sum up of them."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassbook.bench import logs
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.schema import OPERATIONS, SAMPLES
from cassbook.ingest import common
from cassbook.ingest.common import Options
from cassbook.ingest.damage import Tally
from cassbook.ingest.formats import Format, recognise
from cassbook.ingest.log import Log
from cassbook.ingest.merge import read_logs
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import _BEGUN, easy_stress, zstd

YCSB = LOGS / "ycsb-0.17.0"
RAW = sorted([*YCSB.glob("raw*.txt"), *YCSB.glob("client-*.txt")])
RECOGNISED = {
    Format.YCSB_RAW: RAW,
    Format.YCSB_TEXT: sorted(YCSB.glob("summary*.txt")),
    Format.YCSB_JSON: sorted(YCSB.glob("summary*.json")),
    Format.HDR_LOG: sorted([*LOGS.glob("*/*.hdr"), *LOGS.glob("*/*.hlog")]),
    Format.STRESS: sorted(LOGS.glob("stress-*/*.log")),
}
PAIRS = [(path, form) for form, paths in RECOGNISED.items() for path in paths]
BAD = ["READ,17x,5", "READ,1600000000000", "REED,1600000000000,5", "READ, 1600000000000,5", "\x00\x01"]
OURS = {"READ": "READ", "UPDATE": "UPDATE", "INSERT": "INSERT", "SCAN": "SCAN", "READ-MODIFY-WRITE": "RMW"}


def summed_by_ycsb(text):
    """The figures behind a raw block, by measurement and statistic."""
    rows = re.findall(r"^\[(\S+)\], (Total Operations|Average|Min|Max), (\S+)$", text, re.MULTILINE)
    return {(name, statistic): float(value) for name, statistic, value in rows}


def read(paths, to, **options):
    report = read_logs([paths] if isinstance(paths, Path) else paths, to, Options(force=True, **options))
    return pq.read_table(to), "\n".join(report.lines)


def test_there_are_samples_of_every_format():
    assert {form for form in Format if not RECOGNISED.get(form)} == {Format.EASY_STRESS, Format.GO_YCSB}
    assert sum(path.stat().st_size for path in LOGS.rglob("*") if path.is_file()) < 400_000


def test_no_sample_names_a_machine():
    for path in LOGS.rglob("*"):
        if path.is_file():
            assert not re.search(rb"/(home|root|work|tmp|Users|usr)/", path.read_bytes()), path


@pytest.mark.parametrize(("path", "form"), PAIRS, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("pack", [None, gzip.compress, zstd], ids=["plain", "gz", "zst"])
def test_is_recognised_by_its_content(tmp_path, path, form, pack):
    renamed = tmp_path / "log"
    content = path.read_bytes()
    renamed.write_bytes(pack(content) if pack else content)
    assert recognise(renamed) is form


@pytest.mark.parametrize("path", [p for p in RAW if "intended" not in p.name], ids=lambda p: p.stem)
def test_raw_samples_are_what_ycsb_itself_counts(tmp_path, path):
    summed = summed_by_ycsb(path.read_text())
    table, report = read(path, tmp_path / "out.parquet")
    assert table.schema.equals(SAMPLES)
    samples = table.to_pandas()
    assert set(samples["cell_id"]) == {path.stem}
    for name, ours in OURS.items():
        ok = samples[(samples["operation"] == ours) & (samples["outcome"] == "ok")]["latency_us"]
        assert len(ok) == summed[name, "Total Operations"]
        assert ok.mean() == pytest.approx(summed[name, "Average"], rel=1e-12)
        assert (ok.min(), ok.max()) == (summed[name, "Min"], summed[name, "Max"])
    failed = sum(
        n for (name, what), n in summed.items() if what == "Total Operations" and name not in (*OURS, "CLEANUP")
    )
    assert (samples["outcome"] != "ok").sum() == failed
    assert f"CLEANUP {summed['CLEANUP', 'Total Operations']:.0f}" in report
    assert samples["started_s"].min() == 0
    assert samples[["intended_s", "coordinator"]].isna().all(axis=None)
    assert set(samples["phase"]) == {"steady"}


def test_an_operation_was_sent_a_latency_before_it_was_completed(tmp_path):
    rows = [
        line.split(",") for line in (YCSB / "raw-failed.txt").read_text().splitlines() if line.startswith("UPDATE,")
    ]
    samples = read(YCSB / "raw-failed.txt", tmp_path / "out.parquet")[0].to_pandas()
    updates = samples[(samples["operation"] == "UPDATE") & (samples["outcome"] == "ok")]
    sent_us = np.array([int(at) * 1000 - int(latency) for _, at, latency in rows])
    np.testing.assert_allclose(np.diff(updates["started_s"]) * 1e6, np.diff(sent_us), atol=1)


def test_each_kind_of_failure_keeps_its_meaning(tmp_path):
    summed = summed_by_ycsb((YCSB / "raw-errors.txt").read_text())
    samples = read(YCSB / "raw-errors.txt", tmp_path / "out.parquet")[0].to_pandas()
    counted = samples["outcome"].astype(str).value_counts()

    def of(*kinds):
        return sum(summed.get((f"{op}-{kind}", "Total Operations"), 0) for op in ("READ", "UPDATE") for kind in kinds)

    others = ("ERROR", "NOT_IMPLEMENTED", "UNEXPECTED_STATE", "BAD_REQUEST", "FORBIDDEN")
    assert counted["missing_row"] == of("NOT_FOUND") > 0
    assert counted["unavailable"] == of("SERVICE_UNAVAILABLE") > 0
    assert counted["server_error"] == of(*others) > 0


def test_latencies_from_the_intended_start_are_not_taken_for_service_times(tmp_path):
    path = YCSB / "raw-intended.txt"
    lines = path.read_text().splitlines()
    table, report = read(path, tmp_path / "out.parquet")
    service = [line for line in lines if re.match(r"Raw(?!Intended-|CLEANUP)[A-Z-]+,\d", line)]
    intended = [line for line in lines if re.match(r"RawIntended-READ,\d", line)]
    assert table.num_rows == len(service)
    assert f"RawIntended-READ {len(intended)}" in report


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
def test_a_compressed_log_gives_the_same(tmp_path, pack):
    packed = tmp_path / "raw.txt.packed"
    packed.write_bytes(pack((YCSB / "raw.txt").read_bytes()))
    plain, _ = read(YCSB / "raw.txt", tmp_path / "a.parquet")
    same, _ = read(packed, tmp_path / "b.parquet")
    for name in ("started_s", "latency_us", "operation", "outcome"):
        assert plain[name].to_pylist() == same[name].to_pylist()


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
def test_a_compressed_log_that_is_cut_short_is_refused(tmp_path, pack):
    packed = tmp_path / "raw.packed"
    packed.write_bytes(pack((YCSB / "raw.txt").read_bytes())[:-200])
    with pytest.raises(InputError, match=r"raw\.packed: .*damaged"):
        read(packed, tmp_path / "out.parquet")
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("bad", BAD)
def test_a_damaged_line_stops_with_file_and_line_and_leaves_nothing(tmp_path, bad):
    lines = (YCSB / "raw.txt").read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("UPDATE,")) + 7
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join([*lines[:place], bad, *lines[place:]]) + "\n")
    done = cassbook("read", damaged, "--to", tmp_path / "out.parquet")
    assert done.exit_code == 2
    assert f"damaged.txt, line {place + 1}: {bad!r}" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["damaged.txt"]
    skipped = cassbook("read", damaged, "--to", tmp_path / "out.parquet", "--skip-damaged")
    assert skipped.exit_code == 0
    assert "1 damaged lines left out" in skipped.output
    assert f"line {place + 1}: {bad!r}" in skipped.output
    whole, _ = read(YCSB / "raw.txt", tmp_path / "whole.parquet")
    left = pq.read_table(tmp_path / "out.parquet")
    assert left["latency_us"].to_pylist() == whole["latency_us"].to_pylist()
    assert json.loads(left.schema.metadata[b"cassbook_logs"])[0]["damaged_lines"] == 1


def test_easy_stress_parquet(tmp_path):
    path = easy_stress(tmp_path / "rawlog.parquet")
    assert recognise(path) is Format.EASY_STRESS
    table, report = read(path, tmp_path / "out.parquet")
    samples = table.to_pandas()
    assert samples["operation"].astype(str).tolist() == ["READ", "UPDATE", "READ"]
    assert samples["outcome"].astype(str).tolist() == ["ok", "ok", "client_timeout"]
    np.testing.assert_allclose(samples["latency_us"], [1500.25, 2000, 12_000_000])
    # The run began with the earliest request that became a sample; the schema change is counted, not kept.
    np.testing.assert_allclose(samples["started_s"], [0, 0.01, 0.99], atol=1e-6)
    np.testing.assert_allclose(samples["intended_s"], [-0.006, 0.01, 0.89], atol=1e-6)
    assert "DDL 1" in report


def test_an_operation_of_easy_stress_that_is_not_known_to_read_or_write_is_unknown(tmp_path):
    path = easy_stress(tmp_path / "rawlog.parquet", {"operation": ["Select", "Batch", "Deletion", "SelectStatement"]})
    table, report = read(path, tmp_path / "out.parquet")
    assert table["operation"].cast("string").to_pylist() == ["READ", "UNKNOWN", "READ"]
    assert "not known to read or to write, so UNKNOWN: Batch 1" in report
    assert "Deletion 1" in report


def test_an_easy_stress_log_without_a_read_or_a_write_names_what_it_has(tmp_path):
    path = easy_stress(tmp_path / "log.parquet", {"operation": ["Deletion", "Deletion", "DDL", "Deletion"]})
    with pytest.raises(InputError, match=r"it has Deletion 3, DDL 1, .*READ, UPDATE"):
        read(path, tmp_path / "out.parquet")


def test_parquet_of_an_older_easy_stress_is_refused_by_name(tmp_path):
    columns = ("operation", "success", "failure_reason", "failure_stacktrace", "start_time_ms", "duration_ns")
    pq.write_table(pa.table({name: [] for name in columns}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="older easy-cass-stress"):
        read(tmp_path / "x.parquet", tmp_path / "out.parquet")


def test_a_row_of_easy_stress_with_a_negative_time_is_damaged(tmp_path):
    path = easy_stress(tmp_path / "rawlog.parquet", {"service_duration_ns": [1, -5, 1, 1]})
    with pytest.raises(InputError, match=r"rawlog\.parquet, line 2: .*service_duration_ns=-5"):
        read(path, tmp_path / "out.parquet")
    table, report = read(path, tmp_path / "out.parquet", skip_damaged=True)
    assert table.num_rows == 2
    assert "1 damaged lines left out" in report


def test_other_parquet_is_refused_with_the_columns_it_lacks(tmp_path):
    pq.write_table(pa.table({"operation": ["READ"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"cassandra-easy-stress .*success, failure_reason"):
        read(tmp_path / "x.parquet", tmp_path / "out.parquet")


def test_many_clients_become_one_cell(tmp_path):
    paths = [YCSB / "client-1.txt", YCSB / "client-2.txt"]
    table, report = read(paths, tmp_path / "run.parquet")
    samples = table.to_pandas()
    alone = [read(path, tmp_path / "one.parquet")[0] for path in paths]
    assert len(samples) == sum(one.num_rows for one in alone)
    assert set(samples["cell_id"]) == {"run"}
    assert samples["latency_us"].sum() == sum(sum(one["latency_us"].to_pylist()) for one in alone)
    notes = json.loads(table.schema.metadata[b"cassbook_logs"])
    assert [note["file"] for note in notes] == ["client-1.txt", "client-2.txt"]
    assert "clocks of 2 clients, taken as they are" in report


def shifted(path, to, ms):
    to.write_text(re.sub(r"(?m)(?<=,)(\d{13})(?=,)", lambda match: str(int(match[1]) + ms), path.read_text()))
    return to


def test_clients_that_did_not_run_together_are_refused_unless_told(tmp_path):
    late = shifted(YCSB / "client-2.txt", tmp_path / "late.txt", 60_000)
    with pytest.raises(InputError, match=r"late\.txt .*\d\d\.\d+ s .*client-1\.txt.*--clocks-apart"):
        read([YCSB / "client-1.txt", late], tmp_path / "out.parquet")
    assert not list(tmp_path.glob("out*"))
    table, report = read([YCSB / "client-1.txt", late], tmp_path / "out.parquet", clocks_apart=True)
    assert "each from its own first operation" in report
    together, _ = read([YCSB / "client-1.txt", YCSB / "client-2.txt"], tmp_path / "b.parquet", clocks_apart=True)
    assert table["started_s"].to_pylist() == together["started_s"].to_pylist()


def test_a_clock_that_is_off_within_the_run_is_told(tmp_path):
    late = shifted(YCSB / "client-2.txt", tmp_path / "late.txt", 100)
    _, report = read([YCSB / "client-1.txt", late], tmp_path / "out.parquet")
    assert re.search(
        r"late\.txt: \+0\.0\d+ s, \+0\.0\d+ s \(shifted as a whole: started late, or its clock is off\)", report
    )


def test_a_clock_that_was_set_back_is_told(tmp_path):
    lines = (YCSB / "raw.txt").read_text().splitlines()
    reads = [i for i, line in enumerate(lines) if line.startswith("READ,")]
    name, _, latency = lines[reads[-1]].split(",")
    lines[reads[-1]] = f"{name},{int(lines[reads[-2]].split(',')[1]) - 2500},{latency}"
    (tmp_path / "back.txt").write_text("\n".join(lines) + "\n")
    _, report = read(tmp_path / "back.txt", tmp_path / "out.parquet")
    assert "its clock was set back while it measured, by 2.5 s at most" in report


def test_clocks_of_clients_that_began_far_apart():
    begun_us = _BEGUN * 1000

    def log(first_us, last_us, from_us=begun_us):
        tally = Tally(Path("x"), False, "")
        return Log(tally, "", None, rows=1, first_us=from_us + first_us, last_us=from_us + last_us)

    logs = [log(1_000_000, 9_000_000), log(5_000_000, 12_000_000)]
    assert common.epochs_us(logs, apart=False) == [begun_us + 1_000_000] * 2
    assert common.epochs_us(logs, apart=True) == [begun_us + 1_000_000, begun_us + 5_000_000]
    with pytest.raises(InputError, match=r"begins 1\.000 s after"):
        common.epochs_us([*logs, log(10_000_000, 11_000_000)], apart=False)
    for year, from_us in (("1970-01-01", 0), ("55840-", begun_us * 1000)):
        with pytest.raises(InputError, match=f"was sent on {year}.*--clocks-apart"):
            common.epochs_us([log(0, 5, from_us)], apart=False)
        assert common.epochs_us([log(0, 5, from_us)], apart=True) == [from_us]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello\n", "is no log that cassbook knows"),
        (b"CLEANUP,1600000000000,5\n", "holds no operation that a sample can be made of"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x", tmp_path / "out.parquet")
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("names", "to", "message"),
    [
        (["raw.txt", "raw.txt"], "out.parquet", "is named twice"),
        (["raw.txt", "summary.txt"], "out.parquet", "cannot become one file"),
        (["none.txt"], "out.parquet", "does not exist"),
        (["raw.txt"], "no/such/out.parquet", "there is no folder"),
        (["raw.txt"], ".", "is a folder"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_read(tmp_path, names, to, message):
    with pytest.raises(InputError, match=message):
        read([YCSB / name for name in names], tmp_path / to)
    assert not list(tmp_path.iterdir())


def test_operations_are_those_of_the_schema(tmp_path):
    table, _ = read(YCSB / "raw.txt", tmp_path / "out.parquet")
    assert set(table["operation"].cast("string").to_pylist()) <= set(OPERATIONS)


def test_memory_does_not_grow_with_the_file():
    """Ten times the rows, in a process of its own each time; the figures of large files are in `make bench`."""
    small, large = (logs.compare(rows, pairs=1) for rows in (300_000, 3_000_000))
    assert large.megabytes > 9 * small.megabytes
    assert large.ours_mb < small.ours_mb + 150
    assert len(large.ratios) == 1


def test_the_file_of_the_comparison_is_read_whole(tmp_path):
    logs.make_raw(tmp_path / "raw.txt", 40_000)
    table, report = read(tmp_path / "raw.txt", tmp_path / "out.parquet")
    assert table.num_rows == 40_000
    assert "0 operations and 0 damaged lines left out" in report


def test_a_full_disk_is_the_output_s_fault_not_the_log_s(tmp_path, monkeypatch):
    def full(self, batch):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.ipc.RecordBatchStreamWriter.write_batch", full)
    with pytest.raises(LaboratoryError, match=rf"^{re.escape(str(tmp_path))}: .*No space left"):
        read(YCSB / "raw.txt", tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr("cassbook.ingest.samples.Writer.add", interrupted)
    done = cassbook("read", YCSB / "raw.txt", "--to", tmp_path / "out.parquet")
    assert done.exit_code == 130
    assert "interrupted; nothing was written" in done.output
    assert not list(tmp_path.iterdir())
