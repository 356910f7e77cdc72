"""How many dead replicas a level survives, against answers worked out by hand."""

import pytest

from cassbook.deployment.distances import placed, printed
from cassbook.deployment.model import Model
from cassbook.deployment.notation import parse
from cassbook.deployment.survival import survives

TWO_CENTRES = "{[C], ([R1..R6]}, {R7..R12})"


def model(notation, level, replication, names=("us_west_2", "ca_central_1")):
    placement = placed(parse(notation), list(names), printed())
    if isinstance(replication, dict):
        replication = dict(zip(placement.data_centres(), replication.values(), strict=True))
    return Model(placement, level, replication=replication)


@pytest.mark.parametrize(
    ("level", "replication", "dead"),
    [
        ("QUORUM", {"a": 3, "b": 3}, 2),  # 4 of 6 are waited for
        ("LOCAL_QUORUM", {"a": 3, "b": 3}, 1),  # 2 of 3 in the coordinator's centre
        ("LOCAL_QUORUM", {"a": 5, "b": 3}, 2),
        ("LOCAL_ONE", {"a": 3, "b": 1}, 2),
        ("EACH_QUORUM", {"a": 5, "b": 3}, 1),  # the smaller centre decides
        ("EACH_QUORUM", {"a": 5, "b": 2}, 0),
        ("ALL", {"a": 3, "b": 3}, 0),
        ("ONE", {"a": 3, "b": 3}, 5),
        ("QUORUM", 3, 1),
        ("EACH_QUORUM", 3, 1),  # no data centres: 2 of 3
        ("QUORUM", 12, 5),
        ("LOCAL_QUORUM", 12, 2),  # every node: 4 of 6 in the coordinator's centre
    ],
)
def test_a_level_survives_the_replicas_it_does_not_wait_for(level, replication, dead):
    assert survives(model(TWO_CENTRES, level, replication)) == dead


def test_rows_with_too_few_replicas_near_the_coordinator_survive_less_than_none():
    """Of four replicas in the ring R1 to R4, two near, LOCAL_QUORUM wants three near; some rows have one."""
    few = model("{C, ([R1..R3]}, {R4, R5})", "LOCAL_QUORUM", 4)
    assert survives(few) < 0
