"""A module's name is a noun of the field and means one thing, unless it stands in parallel rooms for a reason."""

from collections import defaultdict

from tests.helpers.data import PACKAGES

#: Modules of one name mean the same thing, seen from several rooms.
SAME_NAMED = {
    # A command: how it is called, how it answers, what computes or draws the answer.
    **dict.fromkeys(["advise", "decide", "deploy", "predict", "stale"], "a command, and its answer"),
    **dict.fromkeys(["chapter", "export", "report"], "a command, and what the book makes for it"),
    **dict.fromkeys(["cluster", "doctor", "run"], "a command, and what it starts or reads"),
    "capacity": "a command, its answer, and what computes it",
    "experiment": "a command, what it runs, and the record of it",
    "hosts": "the option --hosts: as typed, and as measured",
    # A chapter, and the module that computes what it shows.
    **dict.fromkeys(["carry_over", "cold_start", "designs"], "one analysis: measured, computed, shown"),
    **dict.fromkeys(["models", "scenes"], "a chapter, and what it is about"),
    # One subject from its profile to its text.
    **dict.fromkeys(
        ["comparison", "open_results", "prices", "results"], "computed, read of a record, and made text of"
    ),
    "calibration": "demands from cells, and the record of them",
    "failures": "nodes that fail: while settings are switched, and the chapters on it",
    "load": "the load of experiments at a distance, and of those with faults",
    "conditions": "what a cell finds or what happens under it: said in a profile, and done",
    "distance": "distance between nodes: said in a profile, done, and its chapter",
    "faults": "said in a profile, read of a record, and made text of",
    "measure": "a run: measured, and measured from a notebook",
    "samples": "rows of the sample schema: written from logs, and how fast",
    "scenarios": "the 2021 paper's: computed, and made text of",
    "slices": "of interleaved levels: measured, and computed with",
    "stress": "cassandra-stress: run, and its log",
    "values": "said in a profile, and made",
    "workloads": "said in a profile, and prepared",
    # The small adviser needs the driver and nothing else, so it has a few of the library's small things of its own.
    **dict.fromkeys(["errors", "metrics", "words"], "of the library, and of the small adviser"),
    # `bench` names its modules for what they time.
    **dict.fromkeys(["adviser", "generator", "relay", "staleness"], "timed, and the thing that is timed or shown"),
    # Parallel packages, one per text of the ledger, have parallel modules.
    **dict.fromkeys(["derived", "forensics", "source", "text"], "one per text of the ledger"),
    **dict.fromkeys(["latency", "regressions"], "claims of a text about it, and its chapter"),
    "reproduction": "one per paper: its tables from its own model",
}

#: Words in -ing that are nouns of the field.
NOUNS = {
    "choosing": "a chapter's slug",
    "adapting": "a chapter's slug",
    "interleaving": "a chapter's slug",
    "best_setting": "a setting, of levels",
    "mixing": "of operations, as the 2020 paper calls it",
    "percentile_mixing": "the same, of percentiles",
    "queueing": "theory",
    "ranking": "an order with its significance",
}
#: Names in -ed that are read as nouns.
PARTICIPLES = {
    **dict.fromkeys(
        ["queueing_calibrated", "queueing_reproduced", "staleness_measured", "staleness_predicted"], "a chapter's slug"
    ),
    "derived": "the ledger's word for what a text's tables give",
    "published": "the printed tables, as users import them",
}


def modules():
    """Rooms of each module name."""
    rooms = defaultdict(list)
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            if not path.stem.startswith("__"):
                rooms[path.stem].append(str(path.parent.relative_to(package.parent)))
    return rooms


def test_modules_of_one_name_stand_in_parallel_rooms_for_a_reason():
    several = {name for name, rooms in modules().items() if len(rooms) > 1}
    assert several - set(SAME_NAMED) == set()
    assert set(SAME_NAMED) - several == set(), "no longer several"


def test_modules_are_nouns():
    for ending, known in (("ing", NOUNS), ("ed", PARTICIPLES)):
        named = {name for name in modules() if name.endswith(ending)}
        assert named - set(known) == set()
        assert set(known) - named == set(), "no longer there"
