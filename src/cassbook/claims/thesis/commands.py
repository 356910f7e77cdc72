"""The commands at the end of the thesis, put to its own description of YCSB and to what its text says was run."""

from __future__ import annotations

import shlex
from itertools import pairwise

from cassbook import published
from cassbook.claims.interval import exactly, middle
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, figure
from cassbook.claims.thesis.levels_and_settings import threads_of_2020
from cassbook.claims.thesis.text import READ_RATES, THREAD_COUNTS, rates
from cassbook.core.consistency import STRONG_SETTINGS

LOADS = (
    "ycsb.bat load cassandra-cql -p hosts=localhost -P workloads/workloadc recordcount=25000",
    "ycsb.bat load cassandra-cql -p hosts=localhost -P workloads/workloada recordcount=25000",
    "ycsb.bat load cassandra-cql -p hosts=localhost -P workloads/workloada recordcount=25000",
)
#: Experiment 1: reads, then writes.
RUNS_1 = (
    "ycsb.bat run cassandra-cql -p hosts=localhost -P workloads/workloadc -thread 10",
    "ycsb.bat run cassandra-cql -p hosts=localhost -P workloads/workloada -s -thread 10",
)
RUN_2 = (
    'Cassandra>./bin/ycsb run cassandra-cql -p hosts="192.168.29.143" -p cassandra.readconsistencylevel=ONE '
    "-p cassandra.writeconsistencylevel=ALL -P workloads/workloada -s -threads 10"
)
RUNS = (*RUNS_1, RUN_2)
COMMANDS = (*LOADS, *RUNS)

#: Options of YCSB's client (site.ycsb.Client) and how many values follow each.
OPTIONS = {"-threads": 1, "-target": 1, "-load": 0, "-t": 0, "-s": 0, "-db": 1, "-l": 1, "-P": 1, "-p": 1}
READ_LEVEL, WRITE_LEVEL = "cassandra.readconsistencylevel", "cassandra.writeconsistencylevel"


def arguments(command: str) -> list[str]:
    """What follows program, phase (load or run) and database."""
    return shlex.split(command)[3:]


def accepted(command: str) -> bool:
    """Whether YCSB would run a command: it ends with a message at an unknown option and at a value without option."""
    words = arguments(command)
    while words:
        option = words.pop(0)
        if option not in OPTIONS or len(words) < OPTIONS[option]:
            return False
        del words[: OPTIONS[option]]
    return True


def repaired(command: str) -> str:
    """The command with '-threads' for '-thread' and '-p' before a bare record count."""
    return command.replace("-thread ", "-threads ").replace(" recordcount=", " -p recordcount=")


def properties(command: str) -> dict[str, str]:
    """Properties that a command sets with -p."""
    words = arguments(command)
    return dict(word.split("=", 1) for option, word in pairwise(words) if option == "-p")


def _planned_values() -> int:
    """Settings x thread counts x (latency, throughput)."""
    return len(READ_RATES) * THREAD_COUNTS * 2


@claim(
    "thesis-72-reads", "appendix, experiment 1", "Therefore, we get 3*12*2 = 72 values for read operations to use", "72"
)
def values_of_reads() -> int:
    """3 settings x 12 thread counts x 2 values."""
    return _planned_values()


@claim(
    "thesis-72-writes",
    "appendix, experiment 1, workload a",
    "Therefore, we get 3*12*2 = 72 values for read operations to use",
    "read operations",
)
def operations_of_workload_a() -> Answer:
    """Operations of the experiment that the second of the two equal sentences closes."""
    of_workload = {"workloadc": "read operations", "workloada": "write operations"}
    (workload,) = [name for name in of_workload if name in RUNS_1[1]]
    return Answer(
        of_workload[workload],
        note=f"The paragraph on writes repeats the one on reads word for word; its number, {_planned_values()}, is "
        "right.",
        finding="misprint",
    )


@claim(
    "thesis-threads",
    "appendix, experiment 2",
    "Thread ranges from 10 to 1000 having a total of 12 options",
    "from 10 to 1000 ... 12",
)
def thread_plan() -> Answer:
    """Least, greatest and number of the thread counts of the 2020 paper, since the thesis' own are lost."""
    threads = threads_of_2020()
    return Answer(None, {"the thread counts of the 2020 paper": (threads[0], threads[-1], len(threads))})


@claim("thesis-100-reads", "appendix, experiment 1", "Command to load workload c which has 100% reads", "100%")
def reads_of_workload_c() -> float:
    """Share of reads of workload C in Table 3.1."""
    shares = published.table("thesis_table3_1").set_index("workload")["read_percent"]
    return float(shares[shares.index.str.startswith("C")].iloc[0])


@claim(
    "thesis-threads-option",
    "section 3.2, step 4, and appendix",
    "-threads: The number of client threads ... Run the following command for threads varying from 10 to 1000",
    "-threads",
)
def threads_option() -> Answer:
    """Run commands with the option that section 3.2 lists, '-threads'."""
    exact = sum("-threads" in arguments(command) for command in RUNS)
    near = sum(any(word in ("-thread", "-threads") for word in arguments(command)) for command in RUNS)
    lost = {"'-thread', a letter lost": Count(near, len(RUNS))}
    return Answer(Count(exact, len(RUNS)), lost, finding="misprint")


@claim(
    "thesis-commands-accepted",
    "appendix, experiments 1 and 2",
    "Run the following command for threads varying from 10 to 1000",
    "the following command",
)
def commands_that_run() -> Answer:
    """Printed commands that YCSB's client would accept, as they stand and with '-threads' and '-p' put in."""
    as_printed = Count(sum(map(accepted, COMMANDS)), len(COMMANDS))
    put_right = Count(sum(accepted(repaired(command)) for command in COMMANDS), len(COMMANDS))
    return Answer(
        as_printed,
        {"'-thread' stands for '-threads' and '-p' is missing before recordcount": put_right},
        "YCSB ends with a message at an unknown option or a bare word, so the others were typed anew or shortened for "
        "print. What else they lack may have been lost in the same way.",
        "misprint",
    )


_RECORDS = ("section 4.3.1 and appendix", "25,000 records are used for loading and execution")


@claim("thesis-records-loaded", *_RECORDS, "loading")
def records_loaded() -> Answer:
    """Load commands that set recordcount to 25000 with -p, the way that section 3.2 gives properties."""
    with_p = sum(properties(command).get("recordcount") == "25000" for command in LOADS)
    anyhow = sum(properties(repaired(command)).get("recordcount") == "25000" for command in LOADS)
    lost = {"'-p' lost in print": Count(anyhow, len(LOADS))}
    return Answer(Count(with_p, len(LOADS)), lost, finding="misprint")


@claim("thesis-records-executed", *_RECORDS, "execution")
def operations_executed() -> Answer:
    """Run commands that set a number of operations."""
    given = sum("operationcount" in properties(repaired(command)) for command in RUNS)
    seconds = exactly(25_000) / rates("READ")["ONE"]
    return Answer(
        Count(given, len(RUNS)),
        note="The number may have stood in the workload file, which is not printed. At the printed throughput of reads "
        f"at ONE a run of 25,000 operations would last {figure(seconds, 0)} s.",
        finding="overstated",
    )


@claim(
    "thesis-level-by-cqlsh",
    "appendix, experiment 1",
    "Set the consistency to ONE using cqlsh terminal",
    "using cqlsh terminal",
)
def levels_reach_ycsb() -> Answer:
    """Run commands of experiment 1 that hand a consistency level to YCSB."""
    given = [READ_LEVEL in properties(command) or WRITE_LEVEL in properties(command) for command in RUNS_1]
    apart = middle(rates("READ")["QUORUM"] / rates("READ")["ONE"] - 1) * 100
    return Answer(
        Count(sum(given), len(given)),
        note="By section 2.5.2 CONSISTENCY holds for the current cqlsh session, and YCSB opens its own, at QUORUM "
        f"unless told otherwise; reads at ONE and QUORUM are printed {apart:.0f}% apart. The likeliest is that the "
        "options were left out in print: the command of experiment 2 has them.",
    )


@claim(
    "thesis-command-levels",
    "appendix, experiment 2",
    "There are 3 combinations for read/write consistency that are set individually for read and write i.e., ONE/ALL, "
    "QUORUM/QUORUM, and ALL/ONE",
    "ONE/ALL",
)
def levels_of_experiment_2() -> Answer:
    """Levels for reads and writes in the command of experiment 2."""
    levels = f"{properties(RUN_2)[READ_LEVEL]}/{properties(RUN_2)[WRITE_LEVEL]}"
    (setting,) = [s.name for s in STRONG_SETTINGS if f"{s.read_cl}/{s.write_cl}" == levels]
    return Answer(levels, note=f"The setting {setting}.")
