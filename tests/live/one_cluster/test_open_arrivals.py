"""Statements of one's own under open arrivals, on a cluster that exists: from the profile to an answer by rate."""

import json
import re

import pytest
import yaml

from cassbook.core.paths import project_root
from cassbook.core.schema import ASIDE, OPEN, read_cells
from tests.helpers.command import cassbook

pytestmark = pytest.mark.live
PAGE = (project_root() / "book" / "workloads.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
RATES = [100.0, 300.0]


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """The page's statements, at rates that rise, sent by two processes."""
    monkeypatch.chdir(tmp_path)
    content = yaml.safe_load(EXAMPLE)
    own = [{name: value for name, value in one.items() if name != "rates_per_s"} for one in content["workloads"]["own"]]
    content["workloads"] = {"own": own}
    content["load"] = {"steady_s": 1.0, "client_processes": 2}
    content["warm_up"] = {"cap_s": 4.0}
    content["open"] = {
        "rates_per_s": RATES, "workloads": ["orders"], "settings": ["ONE/ONE", "QUORUM/QUORUM"], "repeats": 1,
        "measured_s": 5.0, "lead_in_s": 1.0, "bound_ms": 500.0,
    }  # fmt: skip
    (tmp_path / "open.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


def test_from_rates_that_rise_to_an_answer_by_rate(cluster, profile):
    done = cassbook("run", "--profile", "open.yaml", "--hosts", "127.0.0.1", "--yes", "--output", "open")
    assert done.exit_code == 0, done.output
    cells = read_cells(profile / "open" / "cells.csv")
    print(cells.to_string(), done.stderr)
    assert cells["rate_per_s"].dropna().max() == max(RATES)
    assert cells["rate_per_s"].notna().all()  # nothing was asked as fast as can be
    measured = cells[~cells["kind"].isin(ASIDE)]
    assert set(measured["kind"]) == {OPEN}
    assert list(measured["rate_per_s"]) == [100.0, 100.0, 300.0, 300.0]
    assert set(measured["arrivals"]) == {"poisson"}
    assert set(measured["client_processes"]) == {2}
    assert measured.groupby("rate_per_s")["n_due"].nunique().eq(1).all()  # the same draw for both settings
    assert measured["n_due"].between(0.7 * 5 * measured["rate_per_s"], 1.3 * 5 * measured["rate_per_s"]).all()
    assert (measured["late_p50_us"] > 0).all()
    answer = cassbook(
        "advise", "--run", "open", "--workload", "orders", "--rate", 200, "--by", "p95", "--format", "json"
    )
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["settings"]
    capacity = cassbook("capacity", "open", "--bound-ms", 500, "--by", "p95")
    assert capacity.exit_code == 0, capacity.output
    report = cassbook("report", "open", "--output", "open.html")
    assert report.exit_code == 0, report.output
    assert "From when a request was due to its answer, under open arrivals" in (profile / "open.html").read_text()
    refused = cassbook("run", "--profile", "load-quick", "--hosts", "127.0.0.1", "--yes", "--output", "shares")
    assert refused.exit_code == 2
    assert "--find-capacity" in refused.stderr
