"""The command as operators call it: pipes, logs cut short, outputs that exist, CSV, a report for programs."""

import csv
import gzip
import json
import os
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassbook.bench import logs
from cassbook.core.errors import InputError
from cassbook.ingest import pipes
from cassbook.ingest.common import Options
from cassbook.ingest.merge import read_logs
from tests.helpers.command import cassbook
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import easy_stress, zstd

RAW = LOGS / "ycsb-0.17.0" / "raw.txt"


def read(*arguments):
    return cassbook("read", *arguments)


def piped(command, to):
    """Run `cat LOG | cassbook read ...` in a shell."""
    script = f"{command} | {sys.executable} -m cassbook.cli read - --output {to}"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)


def test_a_log_is_read_from_a_pipe(tmp_path):
    (tmp_path / "raw.gz").write_bytes(gzip.compress(RAW.read_bytes()))
    done = piped(f"cat {tmp_path / 'raw.gz'}", tmp_path / "y.parquet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("-: YCSB raw; ")
    read_logs([RAW], tmp_path / "plain.parquet")
    ours, plain = pq.read_table(tmp_path / "y.parquet"), pq.read_table(tmp_path / "plain.parquet")
    assert ours["latency_us"].to_pylist() == plain["latency_us"].to_pylist()
    assert set(ours["cell_id"].to_pylist()) == {"y"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.parquet", "raw.gz", "y.parquet"]


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("kind", ["raw.txt", "mixed.log", "READ.hdr", "summary.json", "easy.parquet"])
def test_every_kind_comes_through_standard_input(tmp_path, name, kind, monkeypatch):
    path = easy_stress(tmp_path / kind) if kind == "easy.parquet" else next(LOGS.glob(f"*/{kind}"))
    rows = read_logs([path], tmp_path / "plain.parquet").content["rows"]
    reading, writing = os.pipe()
    feeder = threading.Thread(target=lambda: os.fdopen(writing, "wb").write(path.read_bytes()))
    feeder.start()
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr(
            "pathlib.Path.is_file", lambda self, whole=pipes.Path.is_file: str(self) != name and whole(self)
        )
        report = read_logs([pipes.Path(name)], tmp_path / "out.parquet")
    feeder.join()
    assert report.content["rows"] == rows
    assert not pipes._SPOOLED


def test_a_named_pipe_is_read_once_and_kept(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    feeder = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(zstd(RAW.read_bytes())))
    feeder.start()
    assert read(tmp_path / "pipe", "--output", tmp_path / "y.parquet").exit_code == 0
    feeder.join()
    read_logs([RAW], tmp_path / "plain.parquet")
    assert pq.read_table(tmp_path / "y.parquet").num_rows == pq.read_table(tmp_path / "plain.parquet").num_rows


def test_what_no_pipe_can_do_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"-: --dask .*pipe"):
        read_logs([pipes.STANDARD_INPUT], tmp_path / "y.parquet", Options(dask="tcp://127.0.0.1:1"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(InputError, match="-: standard input is a terminal"):
        read_logs([pipes.STANDARD_INPUT], tmp_path / "y.parquet")
    empty = cassbook("read", "-", "--output", tmp_path / "y.parquet", input=b"")
    assert (empty.exit_code, empty.output) == (2, "cassbook: -: is empty\n")


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gz", "zst"])
@pytest.mark.parametrize("name", ["raw.txt", "mixed.log", "summary.json"])
def test_a_compressed_log_that_is_cut_short_gives_what_can_be_read(tmp_path, pack, name):
    if name == "raw.txt":  # Zstandard is unpacked block by block, so one is made of several
        logs.make_raw(tmp_path / "made", 60_000)
    content = (tmp_path / "made" if name == "raw.txt" else next(LOGS.glob(f"*/{name}"))).read_bytes()
    packed, to = tmp_path / "packed", tmp_path / "out.parquet"
    whole = pack(content)
    packed.write_bytes(whole[: len(whole) * 2 // 3])
    refused = read(packed, "--output", to)
    assert refused.exit_code == 2
    assert "its compression is damaged or cut short" in refused.output
    assert "`cassbook read --skip-damaged` reads what comes before" in refused.output
    given = read(packed, "--output", to, "--skip-damaged", "--format", "json")
    if pack is zstd and name != "raw.txt":  # one block: nothing of it can be unpacked
        assert given.exit_code == 2
        assert "0 bytes could be unpacked" in given.output
        return
    (log,) = json.loads(given.stdout)["logs"]
    unpacked = int(log["cut"].split("): ")[1].split(" bytes")[0].replace(",", ""))
    assert unpacked < len(content)
    assert unpacked > len(content) / 4
    # What was read is what the plain log's whole lines say up to there.
    (tmp_path / "begin").write_bytes(content[: content.rindex(b"\n", 0, unpacked) + 1])
    assert read(tmp_path / "begin", "--output", tmp_path / "begin.parquet", "--skip-damaged").exit_code == 0
    ours, plain = pq.read_table(to), pq.read_table(tmp_path / "begin.parquet")
    column = "latency_us" if name == "raw.txt" else "value"
    assert ours[column].to_pylist() == plain[column].to_pylist()
    assert "bytes could be unpacked" in read(packed, "--output", to, "--skip-damaged", "--force").output


def test_parquet_inside_gzip_is_refused_in_words(tmp_path):
    (tmp_path / "packed").write_bytes(gzip.compress(easy_stress(tmp_path / "easy").read_bytes()))
    refused = read(tmp_path / "packed", "--output", tmp_path / "out")
    assert refused.exit_code == 2
    assert "is Parquet inside gzip or Zstandard; unpack it first" in refused.output


@pytest.mark.parametrize("name", ["raw.txt", "mixed.log", "READ.hdr"])
def test_an_output_that_ends_in_csv_is_csv(tmp_path, name):
    path, to = next(LOGS.glob(f"*/{name}")), tmp_path / "x.csv"
    assert read(path, "--output", to).exit_code == 0
    read_logs([path], tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet")
    with to.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == table.column_names
    assert len(rows) == 1 + table.num_rows
    for number, column in enumerate(table.column_names):
        if pa.types.is_floating(table.schema.field(column).type):
            kept = [float(row[number]) if row[number] else None for row in rows[1:]]
            assert kept == pytest.approx(table[column].to_pylist(), nan_ok=True)
        else:
            assert [row[number] for row in rows[1:]] == ["" if v is None else str(v) for v in table[column].to_pylist()]


def test_an_output_that_exists_is_kept_unless_forced(tmp_path):
    to = tmp_path / "y.parquet"
    to.write_text("precious")
    refused = read(tmp_path / "raw.txt", "--output", to)
    assert "does not exist" in refused.output
    refused = read(RAW, "--output", to)
    assert (refused.exit_code, refused.output) == (2, f"cassbook: --output {to}: exists; --force overwrites it\n")
    assert to.read_text() == "precious"
    assert read(RAW, "--output", to, "--force").exit_code == 0
    assert pq.read_table(to).num_rows > 0


def test_the_report_is_for_programs_too(tmp_path):
    names = ("client-1.txt", "client-2.txt")
    given = read(*(LOGS / "ycsb-0.17.0" / name for name in names), "--output", tmp_path / "y.csv", "--format", "json")
    content = json.loads(given.stdout)
    assert (content["output"], content["format"], content["table"]) == (str(tmp_path / "y.csv"), "csv", "samples")
    assert content["rows"] == sum(log["rows"] for log in content["logs"]) > 1000
    assert content["left_out"] == sum(sum(log["left_out"].values()) for log in content["logs"])
    assert [(log["file"], log["format"], log["damaged_lines"], log["cut"]) for log in content["logs"]] == [
        (name, "YCSB raw", 0, None) for name in names
    ]
    assert len(content["clocks"]) == 3
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(RAW.read_text() + "READ,1x,5\n")
    content = json.loads(read(damaged, "--output", tmp_path / "y", "--skip-damaged", "--format", "json").stdout)
    assert content["logs"][0]["damaged"][0]["text"] == "READ,1x,5"
    for name, table in (("mixed.log", "figures"), ("fixed.hdr", "histograms")):
        content = json.loads(read(next(LOGS.glob(f"*/{name}")), "--output", tmp_path / name, "--format", "json").stdout)
        assert content["table"] == table
        assert content["rows"] == content["logs"][0]["rows"] > 10
