"""What stays of a block: statistics and histograms of every cell, samples of those that a figure draws."""

import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cassbook.book.chapters import cold_start
from cassbook.book.provenance import RECORDED, Source
from cassbook.core import paths
from cassbook.core.errors import CassbookWarning, InputError
from cassbook.lab.run import circumstances
from cassbook.lab.run.store import RunStore
from cassbook.latency import histograms, summaries
from cassbook.profile.profile import load_profile
from cassbook.records import digest
from cassbook.records.run import RecordedRun
from tests.helpers.sampled_blocks import block, measure

DRAWN = ["b1-s1-warmup", "b1-t0500-read-ONE", "b1-cold-read-ONE-warm", "b1-paced500-ONE-healthy"]


@pytest.fixture
def profile():
    return load_profile("standard", keep_samples="figures")


def fill(store, blocks=2):
    for number in range(1, blocks + 1):
        for cell in block(number):
            measure(store, cell)
        store.finish_block(number)
    store.complete()
    store.close()
    return RecordedRun(store.folder)


@pytest.fixture
def whole(tmp_path):
    return fill(RunStore.create(tmp_path / "whole", load_profile("standard", keep_samples="all")))


@pytest.fixture
def thinned(tmp_path, profile):
    return fill(RunStore.create(tmp_path / "thinned", profile))


def test_figures_keep_what_they_draw(thinned, whole):
    kept = [cell_id.replace("b1", f"b{number}") for number in (1, 2) for cell_id in DRAWN]
    assert [cell_id for cell_id in thinned.cells["cell_id"] if thinned.has_samples(cell_id)] == kept
    assert sorted(thinned.samples(["cell_id"])["cell_id"].unique()) == sorted(kept)
    assert all(whole.has_samples(cell_id) for cell_id in whole.cells["cell_id"])
    for cell_id in kept:
        pd.testing.assert_frame_equal(
            thinned.samples(cells=[cell_id]).astype({"cell_id": str}),
            whole.samples(cells=[cell_id]).astype({"cell_id": str}),
        )


@pytest.mark.parametrize(
    ("counts", "drawn"), [([400, 600], 400), ([600, 400], 400), ([10, 1000], 10), ([700, 490], 490)]
)
def test_the_cells_kept_are_those_that_the_chapter_asks_for(profile, counts, drawn):
    """The chapter takes the count nearest to 500 among what was measured; the rule must take the same."""
    profile = profile.model_copy(update={"pure": profile.pure.model_copy(update={"threads": counts})})
    cells = pd.DataFrame(
        {"cell_id": f"{kind}-{n}", "kind": kind, "threads": n, "block": 2}
        for kind in ("pure", "mixed", "cold", "paced") for n in counts
    )  # fmt: skip
    series = [f"cold-{n}" for n in counts]
    every = [f"pure-{drawn}", *series, *(f"paced-{n}" for n in counts)]
    assert digest.kept(cells, profile) == every
    first_block = profile.model_copy(update={"keep_samples": "first_block"})
    assert digest.kept(cells, first_block) == series
    assert digest.kept(cells.assign(block=1), first_block) == every
    source = Source(RECORDED)
    source.__dict__["level_stats"] = pd.DataFrame({"threads": sorted(counts)})
    assert cold_start.nearest_threads(source, digest.DRAWN_THREADS) == drawn


def test_samples_that_were_not_kept_are_refused_by_name(thinned):
    with pytest.raises(InputError, match=r"b1-t0700-read-ONE .*keep_samples: figures"):
        thinned.samples(cells=["b1-t0500-read-ONE", "b1-t0700-read-ONE"])
    with pytest.raises(InputError, match="no cell 'b9-nothing'"):
        thinned.samples(cells=["b9-nothing"])


def test_statistics_are_of_all_samples(thinned, whole):
    """The same figures from a run that kept everything, from one that did not, and straight from the samples."""
    direct = summaries.cell_statistics(whole.samples(digest.COLUMNS), whole.cells)
    for run in (thinned, whole):
        pd.testing.assert_frame_equal(run.statistics, direct)
        pd.testing.assert_frame_equal(Source(RECORDED, run).cell_stats, direct)
    assert len(direct) == 10
    assert (direct["n_errors"] > 0).all()
    assert direct["response_us"].notna().tolist() == (direct["kind"] == "paced").tolist()


def test_histograms_are_of_all_cells(thinned, whole):
    assert set(thinned.histograms) == set(whole.histograms)
    for tag, counted in thinned.histograms.items():
        cell_id, operation, *response = tag.split(".")
        samples = whole.samples(cells=[cell_id])
        samples = samples[(samples["phase"] == "steady") & (samples["outcome"] == "ok")]
        samples = samples[samples["operation"] == operation]
        values = samples["latency_us"] + (1500 if response else 0)
        assert counted.get_total_count() == len(values)
        exact = np.quantile(values, 0.5, method="inverted_cdf")
        assert histograms.quantile_us(counted, 0.5) == pytest.approx(exact, rel=10.0**-histograms.KEPT_DIGITS)
    paced = [tag for tag in thinned.histograms if tag.endswith(".response")]
    assert [tag.split(".")[0] for tag in paced] == ["b1-paced500-ONE-healthy", "b2-paced500-ONE-healthy"]
    assert not any("warmup" in tag for tag in thinned.histograms)
    assert histograms.read_log(thinned.folder / digest.HISTOGRAMS).keys() == thinned.histograms.keys()


def test_response_time_has_a_histogram_of_its_own(thinned):
    """Every paced request left 1.5 ms late."""
    tag = "b1-paced500-ONE-healthy.READ"
    service, response = (histograms.quantile_us(thinned.histograms[t], 0.5) for t in (tag, f"{tag}.response"))
    assert response - service == pytest.approx(1500, abs=(service + response) * 10.0**-histograms.KEPT_DIGITS)


def test_a_run_from_before_there_were_digests_still_gives_them():
    run = RecordedRun(paths.records_dir() / "quick-2.1.20")
    assert digest.STATISTICS not in run.manifest["sums"]
    assert len(run.statistics) == (run.cells["kind"] != "warmup").sum()
    counts = run.statistics.set_index("cell_id")["n_ok"]
    cell_id = counts.index[0]
    assert (
        sum(h.get_total_count() for tag, h in run.histograms.items() if tag.startswith(f"{cell_id}."))
        == counts[cell_id]
    )
    assert all(run.has_samples(cell_id) for cell_id in run.cells["cell_id"])


def test_each_artefact_has_its_sum(thinned):
    folder = thinned.folder
    assert set(thinned.manifest["sums"]) == {
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json"
    }
    text = (folder / "statistics.csv").read_text()
    (folder / "statistics.csv").write_text(text.replace("pure", "mixed", 1))
    with pytest.raises(InputError, match=r"statistics\.csv: is not what was recorded"):
        RecordedRun(folder)


STEPS = [
    ("_digest", "before"),
    ("add_to_log", "before"),  # the statistics are there, the histograms not
    ("add_to_log", "after"),
    ("_keep_samples", "after"),
    ("unlink", "after"),  # the first of the cells' samples is gone
]


@pytest.mark.parametrize(("step", "when"), STEPS)
def test_killed_at_any_step_of_finishing_a_block(tmp_path, profile, whole, step, when):
    """A process that dies without a word, at each step, in the second block; --resume ends with the same files."""
    folder = tmp_path / "run"
    script = f"""
        import os, pathlib
        from cassbook.profile.profile import load_profile
        from cassbook.lab.run import store
        from cassbook.records import digest
        from tests.helpers.sampled_blocks import block, measure
        run = store.RunStore.create(pathlib.Path({str(folder)!r}), load_profile("standard", keep_samples="figures"))
        for cell in block(1):
            measure(run, cell)
        run.finish_block(1)
        for cell in block(2):
            measure(run, cell)
        owner, name = {{
            "_digest": (store.RunStore, "_digest"), "_keep_samples": (store.RunStore, "_keep_samples"),
            "add_to_log": (digest, "add_to_log"), "unlink": (pathlib.Path, "unlink"),
        }}[{step!r}]
        real = getattr(owner, name)
        def dying(*args, **kwargs):
            if {when!r} == "after":
                real(*args, **kwargs)
            os._exit(9)
        setattr(owner, name, dying)
        run.finish_block(2)
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=paths.project_root(), check=False)
    assert died.returncode == 9
    again = RunStore.resume(folder, profile)
    assert len(again.done) == 12
    again.finish_block(1)
    again.finish_block(2)
    again.complete()
    again.close()
    run = RecordedRun(folder)
    pd.testing.assert_frame_equal(run.statistics, whole.statistics)
    assert {t: h.get_total_count() for t, h in run.histograms.items()} == {
        t: h.get_total_count() for t, h in whole.histograms.items()
    }
    assert [run.has_samples(c) for c in run.cells["cell_id"]] == [
        c[3:] in {d[3:] for d in DRAWN} for c in run.cells["cell_id"]
    ]
    assert not list(folder.rglob("*.draft"))
    assert not (folder / "cells").exists()


def test_finished_blocks_go_on_elsewhere(tmp_path, profile):
    """Where only finished blocks were committed, the cells of the block in hand are measured again, and it is said."""
    store = RunStore.create(tmp_path / "here", profile)
    for cell in block(1):
        measure(store, cell)
    store.finish_block(1)
    for cell in block(2)[:3]:
        measure(store, cell)
    store.close()
    elsewhere = tmp_path / "elsewhere" / "run"
    shutil.copytree(store.folder, elsewhere, ignore=shutil.ignore_patterns("cells"))
    assert not (elsewhere / "cells").exists()
    with pytest.warns(CassbookWarning, match="3 cells .* measured again"):
        again = RunStore.resume(elsewhere, profile)
    assert again.done == {cell.cell_id for cell in block(1)}
    assert again.epoch == pytest.approx(store.epoch, abs=0.05)
    for cell in block(2):
        measure(again, cell)
    again.finish_block(1)
    again.finish_block(2)
    again.complete()
    run = RecordedRun(elsewhere)
    assert len(run.statistics) == 10
    assert str(tmp_path) not in "".join(p.read_text() for p in elsewhere.glob("*.*") if p.suffix != ".hlog")
    assert pq.read_metadata(elsewhere / "samples" / "block-2.parquet").num_rows == 4 * 400


@pytest.mark.parametrize(
    ("different", "notes", "mark"),
    [({"cores": 64}, {}, "elsewhere"), ({"system": "Linux 99"}, {}, ""), ({"cores": 64}, {"existing_cluster": {}}, "")],
    ids=["other processors", "another kernel", "another client of a cluster"],
)
def test_another_machine_is_put_down(tmp_path, profile, monkeypatch, different, notes, mark):
    store = RunStore.create(tmp_path / "run", profile)
    store.notes.update(notes)
    store.save_notes()
    store.close()
    shutil.rmtree(store.folder / "samples")  # as after a clone
    other = circumstances.machine() | different
    monkeypatch.setattr(circumstances, "machine", lambda: other)
    with pytest.warns(CassbookWarning, match="begun on another machine"):
        RunStore.resume(store.folder, profile).close()
    again = RunStore.resume(store.folder, profile)  # said once
    assert again.notes["other_machines"] == [other]
    assert again.notes["machine"] | different == other
    assert set(fill(again).cells["marks"]) == {mark}
