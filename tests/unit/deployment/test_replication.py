"""Which nodes hold a row, held against small cases by hand and against a ring of random tokens."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.deployment.distances import Distances, placed
from cassbook.deployment.forecast import waited_for
from cassbook.deployment.link import Link
from cassbook.deployment.model import Model
from cassbook.deployment.notation import CLIENT, parse
from cassbook.deployment.replication import names, read, replica_sets

#: Round trips: 1 ms within a zone, 4 between zones, 100 between regions.
NEAR, ZONES, FAR = 1.0, 4.0, 100.0


def between(regions):
    links = {(a, b): Link((ZONES if a == b else FAR) / 2) for a in regions for b in regions}
    return Distances("known", links, same_zone=Link(NEAR / 2))


def there(notation):
    deployment = parse(notation)
    regions = ("eu", "us", "ap", "sa")[: deployment.regions]
    return placed(deployment, regions, between(regions))


UNEVEN = there("{[C], ([R1..R4], [R5, R6]}, {R7..R12})")


def test_a_number_goes_round_the_ring_of_names():
    sets = replica_sets(there("C, (R1..R4)"), 3)
    assert sets == [
        (("R1", "R2", "R3"), 1), (("R2", "R3", "R4"), 1), (("R3", "R4", "R1"), 1), (("R4", "R1", "R2"), 1),
    ]  # fmt: skip
    assert replica_sets(there("C, (R1..R3)"), 3) == [(("R1", "R2", "R3"), 1)]


def test_a_data_centre_fills_its_zones_first():
    # zones take turns in the ring: R1 R5 R2 R6 R3 R4; one replica more than there are zones may be in one again
    sets = replica_sets(UNEVEN, {"eu": 3})
    assert [("".join(sorted(replicas)), often) for replicas, often in sets] == [
        ("R1R2R5", 1), ("R2R5R6", 1), ("R2R3R6", 1), ("R3R4R6", 1), ("R3R4R5", 1), ("R1R4R5", 1),
    ]  # fmt: skip
    assert replica_sets(UNEVEN, {"eu": 2})[4] == (("R3", "R5"), 1)  # not R4, which is in R3's zone


@pytest.mark.parametrize(
    ("level", "hold_ms", "holds"),
    [
        # R1 is one of the three for 2 of 6 parts of the rows; else one of its zone is.
        ("LOCAL_ONE", 4 / 6, ((0, 2 / 6), (1, 4 / 6))),
        # The second nearest is of another zone where only one of the three is of R1's.
        ("LOCAL_QUORUM", (5 * 1 + 4) / 6, ((1, 5 / 6), (4, 1 / 6))),
        ("THREE", 4, ((4, 1),)),
        ("EACH_QUORUM", 100, ((100, 1),)),
        ("QUORUM", 100, ((100, 1),)),  # four of six, of which three are near
        ("ALL", 100, ((100, 1),)),
    ],
)
def test_a_level_waits_for_those_that_hold_the_row(level, hold_ms, holds):
    (way,) = Model(UNEVEN, level, "R1", {"eu": 3, "us": 3}).ways()
    assert way.hold_ms == pytest.approx(hold_ms)
    assert np.allclose(way.holds, holds)


def test_where_every_node_holds_every_row_both_ways_of_saying_it_are_one():
    two = there("{C, (R1..R3}, {R4..R6})")
    for level in ("ONE", "QUORUM", "LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM", "ALL"):
        whole, by_centre = (Model(two, level, "R2", own).alone_ms() for own in (6, {"eu": 3, "us": 3}))
        assert by_centre == pytest.approx(whole)


def test_data_centres_of_unequal_numbers_each_go_round_their_own_ring():
    sets = replica_sets(there("{C, (R1..R3}, {R4, R5})"), {"eu": 1, "us": 1})
    # thirds and halves of the ring make four parts, of 2, 1, 1 and 2 sixths
    assert sets == [(("R1", "R4"), 2), (("R2", "R4"), 1), (("R2", "R5"), 1), (("R3", "R5"), 2)]


def test_a_data_centre_without_replicas_is_asked_nothing():
    (way,) = Model(UNEVEN, "EACH_QUORUM", "R1", {"eu": 3, "us": 0}).ways()
    assert way.hold_ms == pytest.approx(1.5)
    (way,) = Model(UNEVEN, "ONE", "R1", {"us": 3}).ways()
    assert way.hold_ms == pytest.approx(FAR)


@st.composite
def layouts(draw):
    """Data centres of zones of equal numbers of nodes, with replicas for each."""
    centres, first, parts = draw(st.integers(1, 3)), 1, []
    replicas = {}
    for region in ("eu", "us", "ap")[:centres]:
        zones, each = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        zone_texts = [f"[R{first + each * z}..R{first + each * (z + 1) - 1}]" for z in range(zones)]
        parts.append("{" + ", ".join(zone_texts) + "}")
        replicas[region] = draw(st.integers(1, zones * each))
        first += zones * each
    text = "{[C]}, (" + ", ".join(parts) + ")"
    return text, replicas


@given(layouts())
def test_nodes_of_zones_of_equal_size_hold_equal_parts(layout):
    text, replicas = layout
    deployment = parse(text)
    regions = ("client", *replicas)
    where = placed(deployment, regions, between(regions))
    sets = replica_sets(where, replicas)
    whole = sum(often for _, often in sets)
    held = Counter()
    for own, often in sets:
        assert len(set(own)) == len(own) == sum(replicas.values())
        held.update(dict.fromkeys(own, often))
    for centre, hosts in where.data_centres().items():
        for host in hosts:
            assert held[host.name] / whole == pytest.approx(replicas[centre] / len(hosts))


def ring_of_random_tokens(hosts, replicas, rng, tokens=16, keys=4000):
    """Sets of nodes as Cassandra 2.1 finds them: all nodes of a rack that has its replica wait until each rack has."""
    owners = [host for host in hosts for _ in range(tokens)]
    ring = [owners[place] for place in rng.permutation(len(owners))]
    racks = {region: {host.zone for host in hosts if host.region == region} for region in replicas}
    for start in rng.integers(len(ring), size=keys):
        found = {region: [] for region in replicas}
        seen, skipped = {region: set() for region in replicas}, {region: [] for region in replicas}
        for k in range(len(ring)):
            host = ring[(start + k) % len(ring)]
            own = found.get(host.region)
            if own is None or len(own) >= replicas[host.region] or host in own:
                continue
            if seen[host.region] == racks[host.region]:
                own.append(host)
            elif host.zone in seen[host.region]:
                skipped[host.region].append(host)
            else:
                own.append(host)
                seen[host.region].add(host.zone)
                if seen[host.region] == racks[host.region]:
                    waiting = dict.fromkeys(skipped[host.region])
                    own += [other for other in waiting if other not in own][: replicas[host.region] - len(own)]
        yield [host.name for own in found.values() for host in own]


@pytest.mark.parametrize("level", ["LOCAL_ONE", "LOCAL_QUORUM", "ONE", "TWO", "EACH_QUORUM"])
@pytest.mark.parametrize("notation", ["{[C], ([R1..R2], [R3..R4], [R5..R6]}, {R7..R12})", str(UNEVEN.deployment)])
def test_a_ring_of_random_tokens_comes_to_the_same(notation, level):
    where = there(notation)
    model = Model(where, level, replication={"eu": 3, "us": 3})
    hosts = where.deployment.replicas
    rtt, rng = where.rtt_ms(), np.random.default_rng(1)
    region = {host.name: host.region for host in hosts}
    coordinators = [host.name for host in hosts if host.region == 0]
    waited = []
    for own in (own for _ in range(5) for own in ring_of_random_tokens(hosts, {0: 3, 1: 3}, rng, keys=300)):
        for coordinator in coordinators:
            ms = {name: rtt.loc[coordinator, name] for name in own}
            local = sorted(value for name, value in ms.items() if region[name] == 0)
            far = sorted(value for name, value in ms.items() if region[name] == 1)
            everyone = sorted(ms.values())
            waited.append(
                {"LOCAL_ONE": local[0], "LOCAL_QUORUM": local[1], "ONE": everyone[0], "TWO": everyone[1],
                 "EACH_QUORUM": max(local[1], far[1])}[level]
            )  # fmt: skip
    assert np.mean([way.hold_ms for way in model.ways()]) == pytest.approx(np.mean(waited), rel=0.08)
    assert {way.client_ms for way in model.ways()} == {rtt.loc[CLIENT, name] for name in coordinators}


@pytest.mark.parametrize(
    ("text", "replication", "centres"),
    [
        ("3", 3, ["eu", "us"]),
        ("eu=3,us=2", {"eu": 3, "us": 2}, ["eu", "us"]),
        (" us = 3 ", {"us": 3}, ["eu", "us"]),
        ("dc1=3,dc2=3", {"dc1": 3, "dc2": 3}, ["dc1", "dc2"]),
        ("dc2=3", {"dc2": 3}, ["eu", "dc2"]),
        ("leipzig=3,austin=1", {"leipzig": 3, "austin": 1}, ["leipzig", "austin"]),
    ],
)
def test_replication_is_read(text, replication, centres):
    where, found = read(text, UNEVEN)
    assert found == replication
    assert list(where.data_centres()) == centres
    Model(where, "ONE", replication=found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eu:3", r"'eu:3' is neither a number \(3\) nor a number for a data centre \(eu=3,us=3\)"),
        ("-3", "'-3' is neither"),
        ("eu=3,eu=2", "eu stands twice"),
        ("eu=3,dc1=2", "one data centre has two names"),
        ("eu=3,su=3", r"no data centre 'su'; there are eu \(dc1, R1 to R6\), us \(dc2, R7 to R12\)"),
        ("leipzig=3", "no data centre 'leipzig'.*names of your own go to all of them, in this order"),
        ("eu=7,us=3", r"eu=7; eu has 6 nodes \(R1 to R6\), so use 0 to 6"),
        ("eu=0,us=0", "no data centre holds a replica"),
        ("0", "0 replicas do not fit on 12 nodes"),
        ("13", "13 replicas do not fit on 12 nodes"),
    ],
)
def test_replication_that_cannot_be_is_refused(text, message):
    def asked():
        where, replication = read(text, UNEVEN)
        Model(where, "ONE", replication=replication)

    with pytest.raises(InputError, match=message):
        asked()


def test_local_levels_need_a_replica_where_the_coordinator_is():
    with pytest.raises(InputError, match=r"replicas in eu,.* R1 "):
        Model(UNEVEN, "LOCAL_ONE", replication={"us": 3})
    with pytest.raises(InputError, match=r"SimpleStrategy.*eu=3,us=3"):
        Model(UNEVEN, "LOCAL_QUORUM", replication=3)
    assert Model(UNEVEN, "LOCAL_ONE", "R7", {"us": 3}).ways()[0].hold_ms == pytest.approx(NEAR / 2)


def test_what_a_level_waits_for_is_that_of_the_coordinators_data_centre():
    by_centre = {"eu": 3, "us": 5}
    assert waited_for(UNEVEN, "LOCAL_QUORUM", by_centre) == 2
    assert waited_for(UNEVEN, "LOCAL_QUORUM", by_centre, "R7") == 3
    assert waited_for(UNEVEN, "LOCAL_QUORUM", by_centre, "round_robin") == 3
    assert waited_for(UNEVEN, "EACH_QUORUM", by_centre) == 5
    assert waited_for(UNEVEN, "QUORUM", by_centre) == 5
    assert waited_for(UNEVEN, "EACH_QUORUM", {"eu": 3, "us": 0}) == 2


def test_names_are_short_where_they_follow_one_another():
    nodes = UNEVEN.deployment.replicas
    assert names(nodes) == "R1 to R12"
    assert names(nodes[:2]) == "R1, R2"
    assert names(nodes[::2]) == "R1, R3, R5, R7, R9, R11"
