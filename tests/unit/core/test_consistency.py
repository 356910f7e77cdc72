from itertools import combinations, product

import pytest
from cassandra import ConsistencyLevel

from cassbook.core.consistency import (
    LEVEL_CODES,
    READ_LEVELS,
    STRONG_SETTINGS,
    WRITE_LEVELS,
    Replicas,
    check_level,
    replicas_waited_for,
    setting,
)
from cassbook.core.errors import InputError


def test_codes_are_the_drivers_and_complete():
    assert ConsistencyLevel.name_to_value == LEVEL_CODES


@pytest.mark.parametrize(
    ("level", "rf", "expected"),
    [("QUORUM", 3, 2), ("QUORUM", 4, 3), ("QUORUM", 5, 3), ("ALL", 5, 5), ("TWO", 3, 2)],
)
def test_replicas_waited_for(level, rf, expected):
    assert replicas_waited_for(level, rf) == expected


def test_the_papers_settings_are_strong():
    """Equation (1): read and written replicas overlap, and no level could be lower."""
    for strong in STRONG_SETTINGS:
        assert replicas_waited_for(strong.read_cl, 3) + replicas_waited_for(strong.write_cl, 3) == 4


@pytest.mark.parametrize(
    ("level", "operation"), [("MOST", "read"), ("ANY", "read"), ("SERIAL", "write"), ("one", "write")]
)
def test_levels_that_do_not_exist_are_refused_with_those_that_do(level, operation):
    with pytest.raises(InputError, match="QUORUM") as caught:
        check_level(level, operation)
    assert level in str(caught.value)


def test_unknown_setting_names_the_known():
    with pytest.raises(InputError, match="1R-3W, 2R-2W, 3R-1W"):
        setting("4R-0W")


def answering(replicas, level):
    """All sets of replicas, numbered by data centre, that are enough for a level."""
    nodes = [(centre, k) for centre, count in enumerate(replicas.by_centre) for k in range(count)]
    for size in range(len(nodes) + 1):
        for chosen in combinations(nodes, size):
            here = [sum(centre == k for centre, _ in chosen) for k in range(len(replicas.by_centre))]
            each, anywhere = replicas.needed(level)
            if all(count >= needed for count, needed in zip(here, each, strict=True)) and len(chosen) >= anywhere:
                yield set(chosen)


@pytest.mark.parametrize("by_centre", [(3,), (2, 1), (3, 2)])
def test_whether_levels_overlap_and_survive_is_that_of_all_sets_of_replicas(by_centre):
    replicas = Replicas(by_centre)
    reads, writes = (
        [name for name in names if name not in {"TWO", "THREE", "SERIAL", "LOCAL_SERIAL", "ANY"}]
        for names in (READ_LEVELS, WRITE_LEVELS)
    )
    enough = {level: list(answering(replicas, level)) for level in {*reads, *writes}}
    for read, write in product(reads, writes):
        apart = any(not asked & wrote for asked in enough[read] for wrote in enough[write])
        assert replicas.overlap(read, write) == (not apart), (read, write)
    everyone = {(centre, k) for centre, count in enumerate(by_centre) for k in range(count)}
    for level in {*reads, *writes} - {"LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"}:
        survived = replicas.survived(level)
        for dead in combinations(sorted(everyone), survived):
            assert everyone - set(dead) in enough[level]
        assert survived == replicas.total or any(
            everyone - set(dead) not in enough[level] for dead in combinations(sorted(everyone), survived + 1)
        )


def test_of_one_data_centre_a_setting_is_strong_where_reads_and_writes_are_more_than_all():
    for read, write in product(("ONE", "QUORUM", "ALL"), repeat=2):
        pair = setting(f"{read}/{write}")
        assert pair.strong(3) == (sum(pair.waits(3)) > 3)
        assert pair.survives(3) == tuple(3 - waited for waited in pair.waits(3))
