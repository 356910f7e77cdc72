"""Recorded scenes as messages, from traces that are made up."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from cassbook.book.chapters import scenes, sequences
from cassbook.core.errors import InputError
from cassbook.staleness.exchanges import exchanges
from tests.helpers.experiments import written

NODES = ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
NUMBERS = {"way_ms": 5.0, "late_ms": 150.0, "late": [1, 3], "addresses": NODES}


def event(session_id, node, elapsed_us, activity):
    return {"session_id": session_id, "node": node, "elapsed_us": elapsed_us, "activity": activity}


def sent(session_id, node, elapsed_us, verb, to):
    return event(session_id, node, elapsed_us, f"Sending {verb} message to /127.0.1.{to}")


def came(session_id, node, elapsed_us, verb, peer):
    return event(session_id, node, elapsed_us, f"{verb} message received from /127.0.1.{peer}")


#: A write through node 1, which node 3 gets late; a read through node 2, which brings it to node 3.
EVENTS = pd.DataFrame([
    event("w", 1, 10, "Parsing UPDATE"), sent("w", 1, 100, "MUTATION_REQ", 2), sent("w", 1, 120, "MUTATION_REQ", 3),
    came("w", 2, 5, "MUTATION_REQ", 1), sent("w", 2, 300, "MUTATION_RSP", 1), came("w", 1, 10_500, "MUTATION_RSP", 2),
    came("w", 1, 34, "MUTATION_RSP", 3),  # after the end of the trace, so counted from zero again
    event("r", 2, 150, "Sending READ_REQ message to /127.0.0.2"), came("r", 2, 160, "READ_REQ", 2),
    sent("r", 2, 200, "READ_REQ", 1), sent("r", 2, 210, "READ_REQ", 3), came("r", 2, 10_400, "READ_RSP", 3),
    came("r", 2, 10_600, "READ_RSP", 1), sent("r", 2, 11_000, "READ_REPAIR_REQ", 3),
    came("r", 2, 21_500, "READ_REPAIR_RSP", 3),
])  # fmt: skip
REQUESTS = pd.DataFrame(
    [(1, "UPDATE", 1, "QUORUM", "w", 2.0, 23.0, 7), (2, "READ", 2, "ALL", "r", 24.0, 56.0, 7)],
    columns=["step", "kind", "coordinator", "level", "session_id", "sent_ms", "answered_ms", "version"],
)


def test_each_message_of_the_coordinator_has_its_answer():
    table = exchanges(EVENTS[EVENTS["session_id"] == "r"], 2, NODES)
    assert table["peer"].tolist() == [1, 3, 3]
    assert table["writes"].tolist() == [False, False, True]
    assert table["back_ms"].tolist() == [10.6, 10.4, 21.5]
    late = exchanges(EVENTS[EVENTS["session_id"] == "w"], 1, NODES)
    assert late["peer"].tolist() == [2, 3]
    assert late["back_ms"].isna().tolist() == [False, True]
    with pytest.raises(InputError, match=r"node3, .*no events"):
        exchanges(EVENTS[EVENTS["session_id"] == "w"], 3, NODES)


def test_a_scene_puts_messages_one_after_the_other():
    scene = scenes.scene(REQUESTS, EVENTS, NUMBERS)
    first, *_ = scene.messages
    assert (first.lane, first.to, first.at_ms, first.until_ms) == (0, 1, 0.0, 5.0)
    (unseen,) = [message for message in scene.messages if not message.seen]
    assert (unseen.lane, unseen.to, unseen.until_ms - unseen.at_ms) == (1, 3, 150.0)
    brought = [message for message in scene.messages if message.writes and message.to == 3 and message.seen]
    assert [message.lane for message in brought] == [2]
    assert scene.answered_ms == {1: 21.0, 2: 54.0}
    assert scene.pauses == []
    assert scene.version == 7


def test_a_long_pause_is_drawn_short_and_named():
    later = REQUESTS.assign(sent_ms=[2.0, 12_023.0], answered_ms=[23.0, 12_055.0])
    scene = scenes.scene(later, EVENTS, NUMBERS)
    assert scene.pauses == [(21.0, 12.0)]
    assert scene.answered_ms[2] == pytest.approx(21.0 + scenes.PAUSE_MS + 32.0)


def test_a_hint_comes_in_the_pause_before_the_read():
    later = REQUESTS.assign(sent_ms=[2.0, 12_023.0], answered_ms=[23.0, 12_055.0])
    *_, hint = scenes.with_hint(scenes.scene(later, EVENTS, NUMBERS), NUMBERS["late"]).messages
    assert (hint.lane, hint.to, hint.applies, hint.seen) == (1, 3, True, False)
    assert 21.0 < hint.at_ms < hint.until_ms < 21.0 + scenes.PAUSE_MS


@pytest.fixture
def results(tmp_path):
    """The scene three times, of which the second took the median time and the last missed the write; and a hint."""
    rows, requests, events = [], [], []
    for panel, (took_ms, version) in enumerate(((70.0, 7), (60.0, 7), (50.0, 0)), 1):
        place = {"start": 1, "setup": "late", "panel": panel}
        rows.append(place | {"scene": "repair"})
        ids = [f"w{panel}", f"r{panel}"]
        requests.append(REQUESTS.assign(session_id=ids, answered_ms=[23.0, took_ms], version=[7, version], **place))
        events.append(EVENTS.assign(session_id=EVENTS["session_id"] + str(panel), **place))
    place = {"start": 1, "setup": "late", "panel": 4}
    rows.append(place | {"scene": "hint"})
    requests.append(REQUESTS.assign(session_id="", answered_ms=[23.0, 9_023.0], **place))
    tables = {"requests": pd.concat(requests), "events": pd.concat(events)}
    return written(tmp_path, rows, tables, numbers=NUMBERS)


def test_the_typical_scene_is_the_one_of_median_length(results):
    assert scenes.typical(results, "repair").answered_ms[2] == 58.0
    assert scenes.catching_up(results) == {"late_node_ms": 150.0, "repaired": "2 of 3", "hint_s": 9.0}


@pytest.mark.parametrize("lost", [{"activity": "Sending MUTATION_REQ message to /127.0.1.3"}, {"node": 1}])
def test_a_scene_whose_trace_lacks_a_message_or_its_coordinator_is_not_typical(results, lost):
    events, (column, value) = results.table("events"), *lost.items()
    lacking = events["session_id"].eq("w2") & events[column].eq(value)
    tables = {"requests": results.table("requests"), "events": events[~lacking]}
    results.table = tables.__getitem__
    assert scenes.typical(results, "repair").answered_ms[2] == 68.0


def test_switches_are_told_by_what_their_last_reads_missed(results):
    renamed = results.rows.assign(scene=results.rows["scene"].replace({"repair": "naive", "hint": "safe"}))
    results.rows = renamed
    assert scenes.switched(results) == {"naive_missed": "1 of 3", "safe_missed": "0 of 1"}


def test_scenes_can_be_drawn(results):
    figure = sequences.scenes({"read repair": scenes.typical(results, "repair")})
    assert isinstance(figure, Figure)
    (panel,) = figure.axes
    assert "sees the write" in panel.get_title()
