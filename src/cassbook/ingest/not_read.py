"""What is not read, recognised by what is in it, and what to give instead."""

from __future__ import annotations

import re

#: Archives and packed files, by their first bytes.
_PACKED = (
    (b"PK\x03\x04", "is a ZIP archive; unpack it (`unzip FILE`) and give the logs in it"),
    (b"\xfd7zXZ\x00", "is packed by xz; `xz -dc FILE | cassbook read -` reads it"),
    (b"BZh", "is packed by bzip2; `bzip2 -dc FILE | cassbook read -` reads it"),
    (b"\x04\x22\x4d\x18", "is packed by lz4; `lz4 -dc FILE | cassbook read -` reads it"),
    (b"\x1f\x9d", "is packed by compress; `zcat FILE | cassbook read -` reads it"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive; unpack it (`7z x FILE`) and give the logs in it"),
    (b"SQLite format 3\x00", "is a database of SQLite, no log"),
)
_TAR, _TAR_AT = b"ustar", 257
_TAR_HINT = "is a tar archive; unpack it (`tar -xf FILE`) and give the logs in it"

_PREFIX_HINT = (
    "each line of it has {} in front; take that off, with `sed 's/{}//'`, and give what is left, each client's lines "
    "in a file of their own"
)
_FIGURE = rb"(?:\[[\w%.-]+\], [^,\n]+, |[A-Z][A-Z_-]+,\d{9,},\d+|type[, ]+total ops,|total,? +\d)"
#: Logs of tools and pipelines, by a line that they have. The first that is found is said.
_OTHERS = (
    (rb"^[\w.-]+ +\| " + _FIGURE, _PREFIX_HINT.format("a service's name, as docker compose puts it,", "^[^|]*| ")),
    (rb"^\[pod/[^\]]+\] ", _PREFIX_HINT.format("a pod's name, as kubectl puts it,", r"^\[pod[^]]*\] ")),
    (rb"^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:std\w+ [FP] )?" + _FIGURE,
     _PREFIX_HINT.format("a time", r"^[^ ]* ")),
    (rb"^Count +Latency \(p99\) +1min|Latency \(p99\)\S* +\S*1min \(req/s\)",
     "is what cassandra-easy-stress or tlp-stress shows while it runs, which holds one percentile of moving windows; "
     "run it with `--parquet FILE` (easy-stress) and give that"),
    ("^(?:CONFIG|SUMMARY STATS) \u2550+".encode(),
     "is a report of latte, which is not read; give a log of HdrHistogram (`latte hdr REPORT.json`)"),
    (rb"-- BEGIN METRICS DETAIL --|\btype=(?:GAUGE|TIMER|HISTOGRAM), name=",
     "is a log of NoSQLBench, whose figures are of intervals; run it with `--log-histograms FILE.hdr` and give that"),
    (rb"^\|? *OPERATION *\| *TAKES\(S\)",
     "is a table of go-ycsb; run it with `outputstyle=plain`, or with `measurementtype=raw`, and give that"),
    (rb"^Using request distribution '.*' a keyrange of|^Run finished, takes ",
     "is the console of go-ycsb without its measurements; give its last lines, such as `READ   - Takes(s): ...`, or "
     "the file of `measurement.output_file`"),
    (rb"^ *Value +Percentile +TotalCount +1/\(1-Percentile\)",
     "is a distribution of percentiles (.hgrm), which holds no intervals; give the HdrHistogram log it was made of"),
    (rb"^total,interval_op_rate,|^Averages from the middle 80% of values:",
     "is of a cassandra-stress before 2.1, which is not read; 2.1 and later are"),
    (rb"^Command line: .*-(?:t|load)\b|^YCSB Client \d|^\[OVERALL\]",
     "is YCSB's console without its figures: the test did not end, or they are in the file that `exportfile` names"),
    (rb'\A"?cell_id"?,"?started_s"?,"?intended_s"?,',
     "is what `cassbook read --output FILE.csv` wrote, which is for other programs; give the log itself, or read it "
     "with `--output FILE.parquet` and show that"),
    (rb'\A"?file"?,"?tag"?,"?(?:threads"?,"?at_s|started_s"?,"?length_s)"?,',
     "is the table that `cassbook read --output FILE.csv` wrote, which is for other programs; give the log itself, or "
     "read it with `--output FILE.parquet` and show that"),
    (rb"^<{7} |^>{7} ", "has marks of a merge in it (`<<<<<<<`): two versions of one file; take one out"),
    (rb"(?i)^\s*<(?:!DOCTYPE )?html", "is a page in HTML; give the tool's own log"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern, re.MULTILINE), hint) for pattern, hint in _OTHERS)
_COLOURS = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


def refusal(head: bytes, archives: bool = False) -> str:
    """Return why a file is not read and what to give instead, from its beginning; empty where nothing is known of it.

    Parameters
    ----------
    head : bytes
        Decompressed.
    archives : bool
        Look for archives only, whose contents may pass for a log.
    """
    if archives:
        if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
            return _TAR_HINT
        return next((hint for magic, hint in _PACKED if head.startswith(magic)), "")
    head = _COLOURS.sub(b"", head)
    return next((hint for pattern, hint in _PATTERNS if pattern.search(head)), "")
