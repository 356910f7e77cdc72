"""Samples in Parquet, read row group by row group: the same figures as all at once, in flat memory."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from cassbook.bench import samples as bench
from cassbook.core.errors import InputError
from cassbook.ingest import samples as writer
from cassbook.latency.cells import cell_statistics
from cassbook.records import sample_stream
from cassbook.records.run import RecordedRun
from tests.helpers.data import ROOT

QUICK = ROOT / "data" / "records" / "quick-2.1.20"


def written(path, n, intended=False, groups=1):
    """Samples of one cell in so many row groups; one in 500 failed."""
    rng = np.random.default_rng(n)
    with writer.writing(path, {}) as file:
        for part in np.array_split(np.arange(n), groups):
            file.add(
                writer.to_batch(
                    writer.Operations(
                        rng.integers(0, 2, part.size).astype(np.int8), (part % 500 == 0).astype(np.int8) * 7,
                        (part * 100).astype(np.int64), rng.lognormal(7, 0.6, part.size),
                        (part * 100 - 50).astype(np.int64) if intended else None,
                    ), 0, "mine",
                )
            )  # fmt: skip
            file.flush()


def test_a_block_of_a_run_says_what_its_statistics_say():
    block = sorted((QUICK / "samples").glob("*.parquet"))[0]
    streamed = sample_stream.SampleFile(block).statistics.set_index("cell_id")
    run = RecordedRun(QUICK)
    whole = cell_statistics(run.samples(), run.cells).set_index("cell_id")
    both = whole.join(streamed.add_suffix("_streamed"), how="inner")
    assert len(both) > 90
    for column in ("n_ok", "n_errors", "latency_us"):
        np.testing.assert_allclose(both[column], both[f"{column}_streamed"])
    for column in ("p50_us", "p95_us", "p99_us"):
        np.testing.assert_allclose(both[column], both[f"{column}_streamed"], rtol=0.02)


def test_failures_are_counted_and_response_times_start_at_the_intended_time(tmp_path):
    written(tmp_path / "a.parquet", 20_000, intended=True, groups=3)
    file = sample_stream.SampleFile(tmp_path / "a.parquet")
    (row,) = file.statistics.to_dict("records")
    assert (row["n_ok"], row["n_errors"]) == (19_960, 40)
    assert 0 < row["n_unknown"] < 40  # writes that timed out
    assert row["response_us"] == pytest.approx(row["latency_us"] + 50, abs=1)
    assert row["response_p99_us"] == pytest.approx(row["p99_us"] + 50, rel=2e-3)
    assert row["p99_low_us"] < row["p99_us"] < row["p99_high_us"]
    assert row["throughput_per_s"] == pytest.approx(9980, rel=1e-3)
    assert sorted(file.histograms) == ["mine.READ", "mine.READ.response", "mine.UPDATE", "mine.UPDATE.response"]


def test_a_folder_of_parts_is_one(tmp_path):
    for name in ("a", "b"):
        written(tmp_path / f"{name}.parquet", 5000)
    assert sample_stream.holds_samples(tmp_path)
    assert sample_stream.SampleFile(tmp_path).statistics["n_ok"].tolist() == [9980]


def test_one_row_group_is_in_memory_at_a_time(tmp_path, monkeypatch):
    written(tmp_path / "a.parquet", 50_000, groups=10)
    read, sizes = pq.ParquetFile.read_row_group, []

    def watched(self, *arguments, **options):
        table = read(self, *arguments, **options)
        sizes.append(table.num_rows)
        return table

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", watched)
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    assert sample_stream.SampleFile(tmp_path / "a.parquet").statistics["n_ok"].tolist() == [49_900]
    assert sizes == [5000] * 10


@pytest.mark.slow
def test_four_million_samples_take_little_more_than_reading_them_and_no_more_memory_than_one_million(tmp_path):
    few, many = bench.compare(1_200_000, 1, tmp_path), bench.compare(4_000_000, 3, tmp_path)
    assert min(many.ratios) < 6, many
    assert many.ours_mb < many.bare_mb + 120, many
    assert many.ours_mb < few.ours_mb + 80, (few, many)


def test_what_holds_no_samples_is_told(tmp_path):
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet")
    assert not sample_stream.holds_samples(tmp_path / "other.parquet")
    assert not sample_stream.holds_samples(tmp_path / "text.parquet")
    assert not sample_stream.holds_samples(QUICK)
    with pytest.raises(InputError, match="no column cell_id"):
        sample_stream.SampleFile(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        sample_stream.SampleFile(tmp_path / "text.parquet")
