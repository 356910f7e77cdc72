"""What YCSB, its launchers and its Cassandra bindings print around their measurements, and what go-ycsb does.

Known from the sources of YCSB 0.1.4 to 0.17.0 and of go-ycsb: each pattern has the fixed part of one message or of
several that begin alike. What consoles print around a benchmark, shells, `time`, Java, its loggers, Maven and
PowerShell, is known from the sources or manuals of these tools. A line that holds a measurement is never text, whatever
is around it: where two streams were written into one line, that line is damaged.
"""

from __future__ import annotations

import re

_LEVEL = rb"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE|CONFIG|FINE|FINER|FINEST)"
#: Levels of java.util.logging in the languages that Java ships with or people run it in.
_LEVELS_ABROAD = (
    rb"(?:SCHWERWIEGEND|WARNUNG|INFORMATION|KONFIGURATION|FEIN|FEINER|AM FEINSTEN|INFOS|AVERTISSEMENT|GRAVE"
    rb"|PR\S{1,2}CIS|ADVERTENCIA|INFORMACI\S{1,2}N|AVVERTENZA|INFORMAZIONI|AVISO|INFORMA\S{2,4}ES|ALLVARLIG|VARNING"
    rb"|\xe8\xad\xa6\xe5\x91\x8a|\xe4\xbf\xa1\xe6\x81\xaf|\xe4\xb8\xa5\xe9\x87\x8d"
    rb"|\xe6\x83\x85\xe5\xa0\xb1|\xe9\x87\x8d\xe5\xa4\xa7)"  # Chinese and Japanese
)
_DATE = rb"\d{2,4}[-/.]\d\d[-/.]\d{2,4}"
_CLOCK = rb"\d\d?:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?[AP]M|Z|[+-]\d\d:?\d\d)?"
_CLASS = rb"(?:[A-Za-z_][\w$]*\.)+[A-Z][\w$]*"

_SHELLS = (
    rb"(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+(?:[: ][^ $#%]*)?|\[[^\]@]*@[^\]]*\]|(?:ba|z|k|da)?sh(?:-[\d.]+)?"
    rb"|[\w.-]+:\S+ \w+) ?[$#%](?: |$)",
    rb"[$#%>] \S",
    rb"(?:\xe2\x9e\x9c|\xe2\x9d\xaf|\xce\xbb) +\S",  # the prompts of oh-my-zsh, starship and cmder
    rb"\+{1,4} \S",  # set -x, and PowerShell where it quotes a command
    rb"(?:PS )?[A-Za-z]:\\[^>]*>|PS /[^>]*>",
    rb".*\S \\$|\s+--?[A-Za-z][\w.-]*(?:[ =:]|$)",  # a command over several lines
    rb"\^C|(?:Killed|Terminated|Interrupt|Hangup|Segmentation fault)(?: \(core dumped\))?$",
    rb"nohup: (?:ignoring|appending|redirecting)|Script (?:started|done),? ",
    rb"\[\d+\][-+]? +(?:\d+$|Done|Exit \d|Running)",
    rb"[^,\[\]]{1,200}: (?:command not found|[Nn]ot found|[Nn]o such file or directory|[Pp]ermission denied"
    rb"|[Ii]s a directory)$|zsh: (?:command not found|permission denied|no such file or directory): ",
    rb"Terminate batch job \(Y/N\)\?|Batchvorgang abbrechen \(J/N\)\?|Terminer le programme de commandes",
    rb"'[^']+' is not recognized as an internal or external command|operable program or batch file\.$",
    rb"The system cannot find the path specified\.$",
)
_TIMES = (
    rb"(?:real|user|sys)\s+(?:\d+m)?\d+(?:[.,]\d+)?s?$",  # sh, bash, ksh
    rb".* \d+[.,]\d+s user \d+[.,]\d+s system \d+% cpu (?:\d+:)*\d+[.,]\d+ total$",  # zsh
    rb"\d+[.,]\d+u(?:ser)? \d+[.,]\d+s(?:ystem)? (?:\d+:)+\d+(?:[.,]\d+)?(?:elapsed)? ",  # csh, GNU
    rb"\d+inputs\+\d+outputs \(\d+major\+\d+minor\)pagefaults \d+swaps$",
    rb"\s+(?:Command being timed|(?:User|System) time \(seconds\)|Percent of CPU this job got"
    rb"|Elapsed \(wall clock\) time|Average (?:shared text|unshared data|stack|total|resident set) size"
    rb"|Maximum resident set size|(?:Major|Minor) \(.*\) page faults|(?:Voluntary|Involuntary) context switches|Swaps"
    rb"|File system (?:in|out)puts|Socket messages (?:sent|received)|Signals delivered|Page size|Exit status)\b.*: ",
    rb"Command (?:exited with non-zero status|terminated by signal|stopped by signal) \d+$",
    rb"Executed in +\d+[.,]\d+ |\s+(?:usr|sys) time +\d+[.,]\d+ ",  # fish
    rb"(?:Days|Hours|Minutes|Seconds|Milliseconds|Ticks|Total(?:Days|Hours|Minutes|Seconds|Milliseconds)) *: \d",
)
_POWERSHELL = (
    rb"(?:\S+\.(?:exe|bat|cmd|ps1|sh)|java|python\d?|py|cmd|mvn|ycsb|go-ycsb|bash|sh|wsl|docker) : ",
    rb"(?:(?:At|In) )?(?:line|Zeile|Au caract\S{1,2}re Ligne|En l\S{1,2}nea|riga|N[oa] linha|(?:At |In |Au |En )?"
    rb"(?:[A-Za-z]:\\|/).*\.ps1) ?: ?\d+ (?:\S{1,12} ?)?: ?\d+$",
    rb"\s*\+ (?:CategoryInfo|FullyQualifiedErrorId) +: ", rb"\s*\+ +~+$",
)  # fmt: skip
_JAVA = (
    rb"(?:OpenJDK|Java HotSpot|Zing|IBM|Eclipse OpenJ9|GraalVM).*\bVM\b", rb"(?:NOTE: )?Picked up \w*JAVA\w*OPTIONS: ",
    rb"(?:openjdk|java) version \"|OpenJDK Runtime Environment|Java\(TM\) SE Runtime Environment|openjdk \d",
    rb"Exception in thread |(?:Caused by|Suppressed): |\s+(?:Caused by|Suppressed): |\[CIRCULAR REFERENCE",
    rb"(?:\s+)at [\w.$/<>@-]+\(.*\)", rb"\s*\.\.\. \d+ (?:more|common frames omitted)$",
    rb"(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:: .*)?$",  # a trace's first line
    rb"\[\d+[.,]\d+s\]\[", rb"(?:" + _DATE + rb"T\S+: )?(?:\d+[.,]\d+: )?\[(?:Full )?GC\b",
)  # fmt: skip
_LOGGERS = (
    rb"SLF4J(?:\([DWIE]\))?: ",
    rb"log4j:(?:WARN|ERROR) ",
    rb"(?:ERROR|WARN) StatusLogger |(?:\S+ )?" + _LEVEL + rb" (?:Unable to (?:locate|invoke|create)|Could not)",
    rb"\S+ " + _LEVEL + rb" (?:StatusLogger |Error |No |Appender |Attempted |An exception )",  # log4j 2's own
    rb"\[[^\]]+\] " + _LEVEL + rb" +\S+ --? ",  # slf4j-simple
    rb"\d+ +\[[^\]]*\] +" + _LEVEL + rb" ",  # slf4j-simple before 1.7.6; log4j's TTCC
    # logback, log4j and java.util.logging: a time, then a level within the first words
    rb"\[?(?:" + _DATE + rb"[ T])?" + _CLOCK + rb"\]? .{0,120}?\b" + _LEVEL + rb"\b",
    rb"\S{3,8} \d\d?, \d{4},? " + _CLOCK + rb"(?: \S{2,6})? " + _CLASS,  # java.util.logging, the first of two lines
    rb"\[?" + _LEVEL + rb"\]?:? +(?:\d|\[|" + _CLASS + rb"|\d\d?:)",
    _LEVEL + rb": ",
    _LEVELS_ABROAD + rb" ?: ",
    rb"\[" + _LEVEL + rb"\](?:\s|$)",  # Maven; YCSB's launchers
)
_MAVEN = (rb"Download(?:ing|ed)(?: from \S+)?: ", rb"Progress \(\d+\): ")

TEXTS = (*_SHELLS, *_TIMES, *_POWERSHELL, *_JAVA, *_LOGGERS, *_MAVEN)

_COLOURS = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")
#: A row of a summary, of single operations, or go-ycsb's, anywhere in a line.
_MEASUREMENT = re.compile(
    rb"\[[\w%.-]+\], [^,]+, \S+\s*$|(?<![\w-])[A-Z][A-Z_-]+,\d{9,},\d+|\b[A-Z_]+ *- Takes\(s\): |\"measurement\" ?: ?\""
)
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


def plain(line: bytes) -> bytes:
    """Return a line without the colours of a terminal."""
    return _COLOURS.sub(b"", line) if b"\x1b" in line else line


def holds_measurement(line: bytes) -> bool:
    """Whether a measurement stands anywhere in a line."""
    return _MEASUREMENT.search(line) is not None


def is_text(line: bytes) -> bool:
    r"""Whether a line is one that YCSB or the console around it prints, and holds no measurement.

    >>> is_text(b"Starting test."), is_text(b"real\t0m7.310s"), is_text(b"Starting test.[READ], Operations, 5")
    (True, True, False)
    """
    line = plain(line)
    return _TEXT.match(line) is not None and not holds_measurement(line)
