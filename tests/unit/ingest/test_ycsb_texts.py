"""What YCSB, its launchers and the console around it print is passed over; all else is damaged."""

import pytest

from cassbook.ingest.ycsb_texts import is_text
from tests.helpers.ycsb_console import CONSOLE, JAVA, YCSB

LEVELS = """WARNUNG: Ein Hinweis
INFOS: prêt
INFORMATION: bereit
AVERTISSEMENT: lent
GRAVE: x
SCHWERWIEGEND: x
ADVERTENCIA: lento
INFORMACIÓN: listo
AVVERTENZA: lento
警告: x
情報: x
Nov. 01, 2026 10:00:00 VORM. com.google.common.Futures log
[main] INFO site.ycsb.Client -- Connected
NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx2g
main ERROR Unable to locate appender "x" for logger config "root"
2026-11-01 10:00:00,123 main ERROR Unable to locate appender x""".splitlines()
UNKNOWN = [
    "Hello", "=== workload a ===", "run 1 of 3", "READ", "[READ]", "[READ], AverageLatency(us)", "[READ], Average, ",
    "READ,1600000000000", "ycsb_1  | [READ], Operations, 5", "Connect to cluster", "1600000000000,812",
    "note : workload a", "Ergebnis: 5", "line 3: READ",
]  # fmt: skip
#: A text with a measurement in the same line, as where two streams go into one file.
MIXED = [
    "Starting test.[OVERALL], RunTime(ms), 2000",
    "2026-11-01 10:00:00:010 10 sec: 90 operations; [READ], AverageLatency(us), 812.5",
    "2026-11-01 10:00:00 INFO [READ], AverageLatency(us), 812.5",
    "$ READ,1600000000000,812",
    "[WARN] READ   - Takes(s): 10.0, Count: 5",
    "java : [READ], AverageLatency(us), 812.5",
    "WARNUNG: [READ], AverageLatency(us), 812.5",
    "bash: [READ], Operations, 5: Permission denied",
]


@pytest.mark.parametrize("line", [*YCSB, *JAVA, *CONSOLE, *LEVELS])
def test_known_text(line):
    assert is_text(line.encode())


@pytest.mark.parametrize("line", [*UNKNOWN, *MIXED])
def test_unknown_text_and_text_with_a_measurement_in_it(line):
    assert not is_text(line.encode())
