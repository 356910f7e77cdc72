"""Records of experiments, read back: means, ratios, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from cassbook.core.errors import InputError
from cassbook.ingest.folder import open_run
from cassbook.records.experiment import Results
from tests.helpers.experiments import noted


@pytest.fixture
def recorded(tmp_path):
    """Two starts of a setup: condition 'slow' takes twice as long as 'fast'."""
    rng = np.random.default_rng(1)
    for start in (1, 2, 3):
        base = rng.uniform(9, 11)
        rows = [
            {"start": start, "setup": "c", "round": r, "condition": name, "latency_ms": base * factor, "errors": None}
            for r in (1, 2)
            for name, factor in (("fast", 1), ("slow", 2))
        ]
        pd.DataFrame(rows).to_csv(tmp_path / f"start-{start}-c.csv", index=False)
    return noted(tmp_path)


def test_ratios_are_within_a_start(recorded):
    results = Results(str(recorded))
    ratio = results.ratio("latency_ms", {"condition": "slow"}, {"condition": "fast"})
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))
    means = results.mean("latency_ms", ["condition"])
    assert means["slow"].n == 3
    assert means["slow"].low < means["slow"].value < means["slow"].high
    assert set(results.rows["errors"]) == {""}
    with pytest.raises(InputError, match="no row with"):
        results.ratio("latency_ms", {"condition": "none"}, {"condition": "fast"})


def test_what_is_not_complete_is_not_read(recorded):
    noted(recorded, complete=False)
    with pytest.raises(InputError, match="is not complete"):
        Results(str(recorded))
    (recorded / "manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"manifest\.json: is damaged"):
        Results(str(recorded))
    with pytest.raises(InputError, match=r"there is no record .*recorded here: .*oracle-1\.2\.0"):
        Results("nothing-of-the-kind")
    with pytest.raises(InputError, match=r"^[^(]*oracle-1\.2\.0: .*staleness-oracle"):
        open_run("oracle-1.2.0")


def test_what_is_not_as_recorded_is_not_read(recorded):
    with (recorded / "start-2-c.csv").open("a") as stream:
        stream.write("x")
    with pytest.raises(InputError, match=r"start-2-c\.csv: is not what was recorded"):
        Results(str(recorded))
    (recorded / "start-2-c.csv").unlink()
    with pytest.raises(InputError, match=r"start-2-c\.csv: is missing"):
        Results(str(recorded))
