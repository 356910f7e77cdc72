"""Which reads are sure to see which writes across data centres: against every choice of replicas, and by hand."""

from itertools import combinations, product

import pytest

from cassbook.deployment.distances import placed, printed
from cassbook.deployment.notation import parse
from cassbook.deployment.visibility import Rows, sure, wait

TWO_CENTRES = "{[C], ([R1..R6]}, {R7..R12})"
LEVELS = ("ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL")


def rows(notation, replication):
    placement = placed(parse(notation), None, printed())
    if isinstance(replication, tuple):
        replication = dict(zip(placement.data_centres(), replication, strict=True))
    return Rows.of(placement, replication)


def choices(waited, replicas):
    """All sets of replicas that satisfy a level; a replica is (data centre, number)."""
    everyone = [(name, number) for name, count in replicas.items() for number in range(count)]
    for size in range(len(everyone) + 1):
        for chosen in combinations(everyone, size):
            each = {name: sum(own == name for own, _ in chosen) for name in replicas}
            if waited.possible(each):
                yield set(chosen)


@pytest.mark.parametrize("replicas", [{"a": 3, "b": 3}, {"a": 3, "b": 1}, {"a": 2, "b": 2}, {"a": 2, "b": 1, "c": 1}])
@pytest.mark.parametrize("by_centre", [True, False])
def test_sure_is_that_no_two_choices_of_replicas_are_disjoint(replicas, by_centre):
    for read, write, reader, writer in product(LEVELS, LEVELS, replicas, replicas):
        r, w = wait(read, replicas, reader, by_centre), wait(write, replicas, writer, by_centre)
        reads, writes = list(choices(r, replicas)), list(choices(w, replicas))
        if reads and writes:
            overlap = all(one & other for one in reads for other in writes)
            assert sure(r, w, replicas) == overlap, (read, write, reader, writer)


@pytest.mark.parametrize(
    ("read", "write", "within", "across"),
    [
        ("LOCAL_QUORUM", "LOCAL_QUORUM", True, False),
        ("LOCAL_QUORUM", "EACH_QUORUM", True, True),
        ("EACH_QUORUM", "LOCAL_QUORUM", True, True),
        ("QUORUM", "LOCAL_QUORUM", False, False),  # 4 of 6 and 2 of 3: the 4 may be the 3 of one and 1 of the other
        ("QUORUM", "QUORUM", True, True),
        ("ONE", "ALL", True, True),
        ("LOCAL_ONE", "EACH_QUORUM", False, False),
        ("THREE", "QUORUM", True, True),
        ("THREE", "THREE", False, False),
    ],
)
def test_three_replicas_in_each_of_two_data_centres(read, write, within, across):
    found = rows(TWO_CENTRES, (3, 3))
    assert (found.strong(read, write, across=False), found.strong(read, write, across=True)) == (within, across)


def test_the_weakest_pairs_that_are_strong_across_data_centres():
    common = [level for level in LEVELS if level not in {"TWO", "THREE"}]
    assert rows(TWO_CENTRES, (3, 3)).pairs(common, common) == [
        ("ONE", "ALL"), ("QUORUM", "QUORUM"), ("LOCAL_QUORUM", "EACH_QUORUM"), ("EACH_QUORUM", "LOCAL_QUORUM"),
        ("ALL", "ONE"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("replication", "level", "survived"),
    [
        ((3, 3), "QUORUM", []),
        ((3, 3), "EACH_QUORUM", []),
        ((3, 3), "LOCAL_QUORUM", ["us_west_2", "ca_central_1"]),
        ((3, 3), "THREE", ["us_west_2", "ca_central_1"]),
        ((3, 3), "ALL", []),
        ((3, 1), "QUORUM", ["ca_central_1"]),
        ((3, 1), "LOCAL_QUORUM", ["us_west_2", "ca_central_1"]),  # the one replica there is a quorum of its own
        ((3, 0), "LOCAL_QUORUM", ["ca_central_1"]),
        ((3, 0), "EACH_QUORUM", ["ca_central_1"]),  # a centre without replicas is not waited for
        (3, "QUORUM", []),  # around the ring, some rows have all three in one data centre
    ],
)
def test_the_loss_of_a_data_centre(replication, level, survived):
    lost = rows(TWO_CENTRES, replication).survivors(level, ["us_west_2"])
    assert [name for name, goes_on in lost.items() if goes_on] == survived


def test_three_data_centres_of_one_survive_at_quorum():
    found = rows("{[C], ([R1]}, {R2}, {R3})", (1, 1, 1))
    assert all(found.survivors("QUORUM", ["us_west_2"]).values())
    assert not any(found.survivors("EACH_QUORUM", ["us_west_2"]).values())


def test_one_data_centre_has_no_other_to_read_from():
    assert rows("{[C], ([R1], [R2], [R3])}", 3).strong("QUORUM", "QUORUM", across=True) is None
