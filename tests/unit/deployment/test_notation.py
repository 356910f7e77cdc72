"""The 2021 paper's notation: what it means, how it is written, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassbook.core.errors import InputError
from cassbook.deployment.notation import parse

SCENARIOS = {
    "a": "{[C], ([R1], [R2], [R3])}",
    "b": "{C}, ({[R1], [R2], [R3]})",
    "c": "{[C], ([R1]}, {R2}, {R3})",
    "d": "{C}, ({R1}, {R2}, {R3})",
}
#: Region and zone of C, R1, R2, R3.
PLACES = {
    "a": [(0, 0), (0, 1), (0, 2), (0, 3)],
    "b": [(0, 0), (1, 0), (1, 1), (1, 2)],
    "c": [(0, 0), (0, 1), (1, 0), (2, 0)],
    "d": [(0, 0), (1, 0), (2, 0), (3, 0)],
}


def places(text):
    return [(host.region, host.zone) for host in parse(text).hosts]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_papers_scenarios_are_where_it_says(name):
    deployment = parse(SCENARIOS[name])
    assert [host.name for host in deployment.hosts] == ["C", "R1", "R2", "R3"]
    assert places(SCENARIOS[name]) == PLACES[name]


@pytest.mark.parametrize(
    "text",
    [
        "{[C], ([R1]}, {R2}, {R3})",  # section 1.2
        "{[C], ([R1]), {R2}, {R3})",  # Table 2
        "{{[C], ([R1])}, {R2}, {R3}}",  # Tables 3 and 4
        "{{[C], ([R1]}, {R2}, {R3})}",
        "{{[C], ([R1]), {R2}, {R3})",
    ],
)
def test_each_of_the_papers_ways_of_writing_scenario_c_is_c(text):
    assert parse(text) == parse(SCENARIOS["c"])


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_canonical_form_is_read_as_the_same(name):
    deployment = parse(SCENARIOS[name])
    assert parse(str(deployment)) == deployment
    assert str(parse(str(deployment))) == str(deployment)


def test_brackets_may_be_left_out():
    assert places("C, (R1, R2, R3)") == [(0, 0)] * 4
    assert places("[C], ([R1], R2)") == [(0, 0), (0, 1), (0, 2)]
    assert parse("{C}, (R, R, R)") == parse("C, ({R1}, {R2}, {R3})") == parse(SCENARIOS["d"])
    assert [host.name for host in parse("C, (N, N)").replicas] == ["N1", "N2"]


def test_a_range_stands_for_its_nodes():
    whole = "{[C], ([R1, R2, R3, R4, R5, R6]}, {R7, R8, R9, R10, R11, R12})"
    assert parse("{[C], ([R1..R6]}, {R7..R12})") == parse(whole)
    assert parse("{C}, ({N1 .. 2}, {N3})") == parse("{C}, ({N1, N2}, {N3})")
    assert parse("{C}, (R2..R2)") == parse("{C}, (R2)")


@st.composite
def deployments(draw):
    """A text in which every bracket is written out."""
    count = draw(st.integers(1, 7))
    places = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=count, max_size=count))
    client = draw(st.tuples(st.integers(0, 3), st.integers(0, 2)))
    letter = draw(st.sampled_from("RN"))
    hosts = [("C", *client), *((f"{letter}{i}", *place) for i, place in enumerate(places, start=1))]
    ordered = sorted(
        hosts,
        key=lambda host: (
            host[1] != client[0],
            host[1],
            host[2] != client[1] or host[1] != client[0],
            host[2],
            host[0] != "C",
        ),
    )
    first = next(i for i, host in enumerate(ordered) if host[0] != "C")
    text = ""
    for i, (name, region, zone) in enumerate(ordered):
        before, after = ordered[i - 1] if i else None, ordered[i + 1] if i + 1 < len(ordered) else None
        text += ", " if i else ""
        text += "{" * (before is None or before[1] != region) + "[" * (before is None or before[1:] != (region, zone))
        text += "(" * (i == first) + name
        text += "]" * (after is None or after[1:] != (region, zone)) + "}" * (after is None or after[1] != region)
    return text + ")", {name: (region, zone) for name, region, zone in hosts}


@given(deployments())
def test_what_is_written_is_read_and_written_again(made):
    text, places = made
    deployment = parse(text)
    assert {host.name for host in deployment.hosts} == set(places)
    for a in deployment.hosts:
        for b in deployment.hosts:
            assert (a.region == b.region) == (places[a.name][0] == places[b.name][0])
            assert ((a.region, a.zone) == (b.region, b.zone)) == (places[a.name] == places[b.name])
    assert parse(str(deployment)) == deployment


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ("{C}, ({R1}, {R2}", 6, "'(' is never closed"),
        ("{C}, ({R1}, {R2}))", 18, "closes nothing"),
        ("{C}, {C}, (R1)", 7, "a second client"),
        ("{C}, (R1, R1)", 11, "R1 stands twice"),
        ("{[C}, ([R1]})", 4, "is not closed before its region"),
        ("{C}, ({R1, {R2}})", 12, "begins before the one at position 7 is closed"),
        ("{C}, (R1, X2)", 11, "'X' is none of"),
        ("{C}, (R1 R2)", 10, "a comma is missing"),
        ("{C}, (R1,, R2)", 10, "a comma with nothing before it"),
        ("{C}, (R1, N2)", 11, "N next to R"),
        ("{C}, {R1}", 1, "no round brackets"),
        ("({R1})", 1, "no client"),
        ("{C}, ()", 1, "no node"),
        ("{C}, (R1), (R2)", 12, "a second cluster"),
        ("(C, R1)", 2, "within the cluster's round brackets"),
        ("{C}, ({}, R1)", 8, "an empty region"),
        ("", 1, "no client"),
        ("{C}, (R6..R1)", 7, "it goes upwards, over 1000 nodes at most"),
        ("{C}, (R1..R2000)", 7, "over 1000 nodes at most"),
        ("{C}, (R1..N6)", 7, "'R1..N6' is no range; write both ends with the same letter"),
        ("{C}, (R..R6)", 7, "is no range"),
        ("{C}, (R1..)", 7, "is no range"),
        ("C..C3, (R1)", 1, "is no range"),
        ("{C}, (R1..R3, R2)", 15, "R2 stands twice"),
        ("{C}, (R1.R3)", 9, "'.' is none of"),
    ],
)
def test_a_fault_is_named_with_its_position(text, position, what):
    with pytest.raises(InputError, match="position") as caught:
        parse(text)
    assert f"position {position}: " in str(caught.value)
    assert what in str(caught.value)
    assert isinstance(caught.value, ValueError)
