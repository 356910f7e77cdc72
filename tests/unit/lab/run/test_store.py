"""Run folders: what is kept, what is refused, what an interruption leaves."""

import json
import sys
from threading import Thread

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassbook.core.errors import InputError
from cassbook.core.schema import CELLS, SAMPLES, SCHEMA_VERSION
from cassbook.lab.load.recorder import Recorder, Window
from cassbook.lab.load.slices import Slices
from cassbook.lab.run.store import RunStore
from cassbook.profile.profile import load_profile
from cassbook.records.run import RecordedRun
from tests.helpers.stored_cells import NODES, alternate, finish, record


@pytest.fixture
def profile():
    return load_profile("quick")


def complete(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x", "b1-y")
    store.finish_block(1)
    finish(store, "b2-x", block=2)
    store.finish_block(2)
    store.complete()
    store.close()
    return store.folder


def test_samples_keep_what_was_added(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    samples = record(store, "b1-x").close().to_pandas()
    assert samples["latency_us"].tolist() == list(range(1, 1001))
    assert np.allclose(samples["started_s"], np.arange(1000) / 1000, atol=1e-6)
    assert samples["operation"].astype(str).value_counts().to_dict() == {"READ": 500, "UPDATE": 500}
    assert (samples["outcome"] == "read_timeout").sum() == 100
    assert samples["phase"].astype(str).value_counts().to_dict() == {"steady": 800, "warmup": 100, "drain": 100}
    assert samples["coordinator"].tolist()[:4] == [*NODES, NODES[0]]
    assert samples["intended_s"].isna().all()


def test_samples_are_on_disk_while_the_cell_runs(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    recorder = record(store, "b1-x", rows=2000)  # 2 s at 1000 a second, less than a full chunk
    recorder._queue.put(None)  # as if the process had been killed: nothing is closed
    recorder._thread.join()
    partial = store.sample_path("b1-x").with_suffix(".partial")
    with pa.ipc.open_stream(str(partial)) as stream:
        assert sum(batch.num_rows for batch in stream) >= 1500
    assert not store.sample_path("b1-x").exists()


def test_a_run_comes_back_as_it_was_written(tmp_path, profile):
    run = RecordedRun(complete(tmp_path, profile))
    assert run.cells["cell_id"].tolist() == ["b1-x", "b1-y", "b2-x"]
    samples = run.samples()
    assert len(samples) == 3000
    assert samples.groupby("cell_id", observed=True)["latency_us"].sum().tolist() == [500500.0] * 3
    assert len(run.samples(["latency_us"], cells=["b2-x"])) == 1000
    schema = pq.read_schema(run.folder / "samples" / "block-1.parquet")
    assert schema.names == SAMPLES.names
    assert schema.metadata[b"cassbook_schema_version"] == str(SCHEMA_VERSION).encode()


def test_cells_that_alternated_come_back_cell_by_cell_and_slice_by_slice(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    slices = Slices(0.1, 0.2, (1, 0, 0, 1))
    alternate(store, slices)
    assert sorted(path.name for path in (store.folder / "cells").iterdir()) == ["b1-x.parquet", "b1-y.parquet"]
    store.finish_block(1)
    store.complete()
    store.close()
    run = RecordedRun(store.folder)
    assert "slices.csv" in run.manifest["sums"]
    table = run.slices
    assert table["cell_id"].tolist() == ["b1-y", "b1-x", "b1-x", "b1-y"]
    assert table["after"].tolist() == ["", "b1-y", "b1-x", "b1-x"]
    assert table["round"].tolist() == [0, 0, 1, 1]
    assert table["n_ok"].tolist() == pytest.approx([200] * 4, abs=1)
    assert table["latency_us"].tolist() == [2000.0, 1000.0, 1000.0, 2000.0]
    assert table["from_s"].tolist() == pytest.approx([0.1, 0.4, 0.7, 1.0])
    statistics = run.statistics.set_index("cell_id")
    assert statistics["latency_us"].to_dict() == {"b1-x": 1000.0, "b1-y": 2000.0}
    assert statistics["n_ok"].tolist() == pytest.approx([400, 400], abs=2)
    assert statistics["throughput_per_s"].tolist() == pytest.approx([1000, 1000], rel=0.01)
    assert statistics["little_ratio"].tolist() == [1.01, 1.01]


def test_resume_keeps_finished_cells_and_clears_the_rest(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x")
    record(store, "b1-y", rows=5000)  # killed in the middle
    orphan = store.sample_path("b1-z")  # killed between a cell's samples and its row
    orphan.write_bytes(b"x")
    store.close()  # as the end of the process does
    again = RunStore.resume(store.folder, profile)
    assert not orphan.exists()
    assert again.done == {"b1-x"}
    assert not list(store.folder.rglob("*.partial"))
    finish(again, "b1-y")
    again.finish_block(1)
    again.complete()
    assert RecordedRun(store.folder).cells["cell_id"].tolist() == ["b1-x", "b1-y"]


def test_finishing_a_block_survives_an_interruption_and_repeats_harmlessly(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x", "b1-y")
    kept = store.sample_path("b1-y").read_bytes()
    store.finish_block(1)
    merged = (store.folder / "samples" / "block-1.parquet").read_bytes()
    store.sample_path("b1-y").write_bytes(kept)  # killed after the merge, before the removal
    store.finish_block(1)
    assert not list((store.folder / "cells").iterdir())
    assert (store.folder / "samples" / "block-1.parquet").read_bytes() == merged


def test_create_refuses_a_folder_in_use(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    with pytest.raises(InputError, match="another process is measuring into it"):
        RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x")
    store.close()
    with pytest.raises(InputError, match="--resume"):
        RunStore.create(tmp_path / "run", profile)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        RunStore.create(tmp_path / "other", profile)
    assert (tmp_path / "other" / "mine.txt").read_text() == "x"


def test_a_run_interrupted_before_its_first_cell_does_not_block_its_command(tmp_path, profile):
    folder = tmp_path / "run"
    RunStore.create(folder, profile).close()
    (folder / "cells" / "b1-x.parquet").write_text("cut off")
    again = RunStore.create(folder, load_profile("quick", engine="5.0.9"))  # also with another profile
    assert not list((folder / "cells").iterdir())
    assert json.loads((folder / "manifest.json").read_text())["engine"] == "5.0.9"
    again.close()
    (folder / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="holds a run already"):
        RunStore.create(folder, profile)


def test_resume_refuses_what_it_cannot_go_on_with(tmp_path, profile):
    with pytest.raises(InputError, match="there is no record"):
        RunStore.resume(tmp_path, profile)
    store = RunStore.create(tmp_path / "run", profile)
    with pytest.raises(InputError, match="another process"):
        RunStore.resume(store.folder, profile)
    store.close()
    with pytest.raises(InputError, match=r"another profile.*engine"):
        RunStore.resume(store.folder, load_profile("quick", engine="5.0.9"))
    with pytest.raises(InputError, match="nothing to resume"):
        RunStore.resume(complete(tmp_path / "b", profile), profile)


def test_an_incomplete_run_is_not_read(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x")
    with pytest.raises(InputError, match="incomplete"):
        RecordedRun(store.folder)


def test_another_schema_version_is_not_read(tmp_path, profile):
    folder = complete(tmp_path, profile)
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA_VERSION}', '"schema": 99', 1))
    with pytest.raises(InputError, match="99"):
        RecordedRun(folder)
    with pytest.raises(InputError, match="99"):
        RunStore.resume(folder, profile)


@pytest.mark.parametrize("damage", ["truncate", "remove", "manifest"])
def test_damage_is_named(tmp_path, profile, damage):
    folder = complete(tmp_path, profile)
    victim = folder / "samples" / "block-2.parquet"
    if damage == "truncate":
        victim.write_bytes(victim.read_bytes()[:-10])
    elif damage == "remove":
        victim.unlink()
    else:
        victim = folder / "manifest.json"
        victim.write_text(victim.read_text()[:100])
    with pytest.raises(InputError) as caught:
        RecordedRun(folder)
    assert victim.name in str(caught.value)


def test_an_unknown_run_names_the_recorded():
    with pytest.raises(InputError, match="quick-2\\.1\\.20"):
        RecordedRun("no-such-run")


def test_the_manifest_tells_machine_versions_and_sums_but_no_path(tmp_path, profile):
    folder = complete(tmp_path, profile)
    text = (folder / "manifest.json").read_text()
    notes = json.loads(text)
    assert notes["profile"]["name"] == "quick"
    assert notes["seed"] == profile.seed
    assert set(notes["sums"]) == {
        "cells.csv", "statistics.csv", "histograms.hlog", "samples/block-1.parquet", "samples/block-2.parquet",
    }  # fmt: skip
    assert {"cpu", "cores", "memory_mb", "system"} <= set(notes["machine"])
    assert str(tmp_path) not in text


def test_the_data_hash_changes_with_the_data(tmp_path, profile):
    one = RecordedRun(complete(tmp_path / "a", profile)).data_hash
    store = RunStore.create(tmp_path / "b", profile)
    finish(store, "b1-x")
    store.finish_block(1)
    store.complete()
    assert one != RecordedRun(store.folder).data_hash


def test_cells_keep_their_types(tmp_path, profile):
    cells = RecordedRun(complete(tmp_path, profile)).cells
    assert list(cells.columns) == list(CELLS)
    assert pd.api.types.is_integer_dtype(cells["threads"])
    assert (cells["errors"] == "").all()


def test_killed_while_it_was_being_completed(tmp_path, profile, monkeypatch):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x")
    store.finish_block(1)
    monkeypatch.setattr(store, "save_notes", lambda: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        store.complete()
    store.close()
    again = RunStore.resume(store.folder, profile)
    assert again.done == {"b1-x"}
    again.complete()
    assert RecordedRun(store.folder).cells["cell_id"].tolist() == ["b1-x"]


@pytest.mark.parametrize(
    "text", ["[]", "{}", "not json", '{"kind": "run", "schema": 1}', '{"kind": "none", "schema": 1, "complete": true}']
)
def test_a_manifest_that_is_none_is_named(tmp_path, profile, text):
    folder = complete(tmp_path, profile)
    (folder / "manifest.json").write_text(text)
    for attempt in (lambda: RecordedRun(folder), lambda: RunStore.resume(folder, profile)):
        with pytest.raises(InputError, match=r"manifest\.json.*damaged"):
            attempt()


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "threads\nmany\n"])
def test_a_damaged_table_of_cells_is_named(tmp_path, profile, text):
    store = RunStore.create(tmp_path / "run", profile)
    finish(store, "b1-x")
    store.close()
    (store.folder / "cells.csv").write_text(text)
    with pytest.raises(InputError, match=r"cells\.csv.*damaged"):
        RunStore.resume(store.folder, profile)


def test_a_file_in_the_place_of_a_folder(tmp_path, profile):
    (tmp_path / "run").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        RunStore.create(tmp_path / "run", profile)


def test_many_threads_may_add(tmp_path, profile):
    """Time-outs and lost connections are recorded by other threads than the event loop's."""
    store = RunStore.create(tmp_path / "run", profile)
    recorder = Recorder(store.sample_path("b1-x"), ["b1-x"], NODES, 0.0, Window(0.0, 1e9))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            Thread(target=lambda: [recorder.add(i / 1e4, 1e-3, 0, 0, 0) for i in range(50_000)]) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert recorder.close().num_rows == 100_000


def test_a_run_of_before_a_key_existed_is_resumed(tmp_path, profile):
    store = RunStore.create(tmp_path / "run", profile)
    store.close()
    path = tmp_path / "run" / "manifest.json"
    notes = json.loads(path.read_text())
    del notes["profile"]["workloads"], notes["profile"]["load"]["connections_per_node"]
    path.write_text(json.dumps(notes))
    RunStore.resume(tmp_path / "run", profile).close()
    notes["profile"]["seed"] += 1
    path.write_text(json.dumps(notes))
    with pytest.raises(InputError, match=r"another profile .*seed"):
        RunStore.resume(tmp_path / "run", profile)
