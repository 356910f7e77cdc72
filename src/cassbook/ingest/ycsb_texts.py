"""What YCSB, its launchers and its Cassandra bindings print around their measurements, and what go-ycsb does.

Known from the sources of YCSB 0.1.4 to 0.17.0 and of go-ycsb: each pattern has the fixed part of one message or of
several that begin alike.
"""

from __future__ import annotations

import re

from cassbook.ingest.console import TEXTS, holds_measurement, plain

_OPERATIONS = rb"(?:READ|UPDATE|INSERT|SCAN|DELETE)"
_CLIENT = (
    rb"YCSB Client |Command line:|Loading workload|Starting test| \(might take a few minutes",
    rb".{0,200}?\b\d+ sec: \d+ operations;",  # a status line, with a label and a date in front or not
    rb"Unable to retrieve client version|Error initializing datastore bindings|Could not (?:find exporter|export meas)",
    rb"Warning: the threadcount is bigger than recordcount|Unknown DB |Interval = |DBWrapper: |dbclass\.getName\(\) = ",
    rb"Usage: java |Options:$|Required properties:$|  workload: the name of the workload|To run the (?:load|trans)",
    rb"use the \"insertcount\" and \"insertstart\"| {10,}(?:can also|be specified|multiple|values in|\"threadcount\")",
    rb"Missing (?:argument value|property)|At least one argument|An argument |Argument '-p' |Unknown option ",
    rb"Failed check required|Unable to open the properties file |\*{5,}|\"[\w.+-]+\"=\"|\[[\w.]+\]=\[",
)
_TERMINATOR = (
    rb"Maximum execution time specified as: |Could not wait until max specified time|Maximum time elapsed\. Requesting",
    rb"Stop requested for workload|Still waiting for thread ",
)
_WORKLOADS = (
    rb"Data integrity is enabled\.|Must have constant field size|Retrying insertion, |Error inserting, not retrying",
    rb"Invalid combination of insertstart|recordcount must be bigger|Warning: record, insert or operation count",
    rb"Downsampling specification for Scan|Grouping by arbitrary series",
)
_GENERATORS = (
    rb"WARNING: (?:Recomputing|Incrementally recomputing) Zipfian|zetan: |countforzeta=|oops\. should not get here",
    rb"Hot(?:set| operation) fraction out of range|Upper bound of Hotspot generator|Reload |Exception: |NullPointerExc",
)
_MEASUREMENTS = (
    rb"\[WARN\] Couldn't read |Raw data measurement: |ERROR: java\.lang\.ArrayIndexOutOfBounds",
    rb"[A-Za-z_-]+ latency raw data: op, timestamp\(ms\), latency\(us\)$",
)
_BINDINGS = (
    _OPERATIONS + rb" \S+ \S+(?: (?:\d+ )?\[ .*|$)",  # BasicDB's, when it is verbose
    rb"Connected to cluster: |Datacenter: .*; Host: |Error (?:reading|scanning|inserting|updating|deleting) |OUCH$",
    rb"(?:Delete|Reading|Inserting) key: |Scanning startkey: |Result of (?:read|insert|delete): |Unable to connect to ",
    rb"(?:SELECT|INSERT INTO|UPDATE|DELETE FROM) \S+.*;?$",  # Cassandra's statements, when debug is on
    rb"mongo (?:client )?connection created with |new database url = |Adding shard node URL: ",
    rb"Using (?:shards: |\d+ shards)|Error in (?:cleanup|closing|creating|database|initializing|processing) ",
)
_LAUNCHERS = (
    rb".*\bjava(?:\.exe)?[\"']? .*\b(?:com\.yahoo|site)\.ycsb\.[A-Z]\w*", rb"YCSB_HOME |mvn output:|classpath=",
    rb"The JAVA_HOME environment variable ",
)  # fmt: skip
_GO_YCSB = (
    rb"operation,timestamp_us,latency_us$|Run finished, takes |Using request distribution '|operation err: ",
    rb"recomputing Zipfian distribution, should be avoided|Got signal \[|Wait 10s for closed, force exit",
    rb"Exporting the full latency spectrum ",
)

_TEXT = re.compile(
    b"|".join(
        (*_CLIENT, *_TERMINATOR, *_WORKLOADS, *_GENERATORS, *_MEASUREMENTS, *_BINDINGS, *_LAUNCHERS, *_GO_YCSB, *TEXTS)
    )
)


def is_text(line: bytes) -> bool:
    r"""Whether a line is one that YCSB or the console around it prints, and holds no measurement.

    Examples
    --------
    >>> is_text(b"Starting test."), is_text(b"real\t0m7.310s"), is_text(b"Starting test.[READ], Operations, 5")
    (True, True, False)
    """
    line = plain(line)
    return _TEXT.match(line) is not None and not holds_measurement(line)
