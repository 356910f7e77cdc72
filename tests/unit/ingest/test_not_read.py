"""What is not read is refused with what to give instead."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from cassbook.core.errors import InputError
from cassbook.ingest.common import Options
from cassbook.ingest.formats import Format, recognise
from cassbook.ingest.merge import read_logs

LOGS = Path(__file__).parents[2] / "data/logs"
RAW = b"READ,1600000000000,812\n" * 50
SUMMARY = ["[OVERALL], RunTime(ms), 2000", "[READ], Operations, 900", "[READ], AverageLatency(us), 812.5"]
OTHERS = {
    "docker compose": ([f"ycsb-1  | {row}" for row in SUMMARY], r"docker compose.*sed 's/\^\[\^\|\]\*\| //'"),
    "docker compose, raw": (["client_1   | READ,1600000000000,812"], "docker compose"),
    "kubectl": ([f"[pod/ycsb-x7/ycsb] {row}" for row in SUMMARY], "kubectl"),
    "kubectl, raw": (["[pod/ycsb-x7/ycsb] READ,1600000000000,812"], "kubectl"),
    "times": ([f"2026-11-01T10:00:00.123456789Z {row}" for row in SUMMARY], "a time in front"),
    "easy-stress": (["   Writes   Reads", "  Count  Latency (p99)  1min (req/s) |   Count "], "--parquet"),
    "latte": (["CONFIG " + "═" * 40, "Date  Mon"], "latte hdr"),
    "NoSQLBench": (["15:46:00,274 INFO [main] i.e.c.S [x:48] -- BEGIN METRICS DETAIL --"], "--log-histograms"),
    "go-ycsb's table": (["+----+", "| OPERATION | TAKES(S) | COUNT |"], "outputstyle=plain"),
    "go-ycsb's console": (["Run finished, takes 2.5s"], "go-ycsb"),
    "hgrm": (["       Value     Percentile TotalCount 1/(1-Percentile)"], r"\.hgrm"),
    "cassandra-stress 1.2": (["total,interval_op_rate,interval_key_rate,latency/95th/99th,elapsed_time"], "before 2.1"),
    "YCSB's console": (["YCSB Client 0.17.0", "Starting test."], "exportfile"),
    "merge marks": (["<<<<<<< HEAD", '{"a": 1}', "=======", "{}", ">>>>>>> other"], "merge"),
    "HTML": (["<!DOCTYPE html>", "<html>"], "HTML"),
}  # fmt: skip


@pytest.mark.parametrize("which", OTHERS)
def test_other_tools_and_prefixes_are_named(tmp_path, which):
    lines, said = OTHERS[which]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=said):
        recognise(path)


def archive(kind):
    packed = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("raw.txt", RAW)
    else:
        with tarfile.open(fileobj=packed, mode="w:gz" if kind == "tar.gz" else "w") as file:
            member = tarfile.TarInfo("raw.txt")
            member.size = len(RAW)
            file.addfile(member, io.BytesIO(RAW))
    return packed.getvalue()


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (archive("zip"), "unzip"), (archive("tar"), "tar -xf"), (archive("tar.gz"), "tar -xf"),
        (lzma.compress(RAW), "xz -dc"), (bz2.compress(RAW), "bzip2 -dc"), (gzip.compress(bz2.compress(RAW)), "bzip2"),
        (b"7z\xbc\xaf\x27\x1c" + RAW, "7z x"), (b"SQLite format 3\x00" + RAW, "SQLite"),
    ],
    ids=["zip", "tar", "tar.gz", "xz", "bz2", "bz2 in gz", "7z", "sqlite"],
)  # fmt: skip
def test_archives_are_refused_with_how_to_unpack_them(tmp_path, content, said, skip):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_logs([path], tmp_path / "out.parquet", Options(skip_damaged=skip))


def test_a_log_that_is_read_is_not_refused_for_a_word_in_it(tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join(["YCSB Client 0.17.0", "Run finished, takes 2.5s", *SUMMARY]) + "\n")
    assert recognise(path) is Format.YCSB_TEXT


@pytest.mark.parametrize("content", ["samples", "figures", "histograms"])
def test_csv_that_read_wrote_is_named(tmp_path, content):
    log = tmp_path / "log"
    if content == "samples":
        log.write_bytes(RAW)
    elif content == "figures":
        log.write_text("\n".join(SUMMARY) + "\n")
    else:
        log = next(path for path in LOGS.rglob("*.hdr"))
    read_logs([log], tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"t\.csv: .*FILE\.csv.*FILE\.parquet"):
        recognise(tmp_path / "t.csv")
