"""`cassbook predict --rate`: an open load at a cluster that was not built."""

import json

import pytest

from tests.helpers.command import cassbook


def predicted(*more):
    return cassbook("predict", "--run", "calibration-5.0.9", "--level", "QUORUM", *more)


@pytest.fixture(scope="module")
def answers():
    return {rate: json.loads(predicted("--rate", str(rate), "--format", "json").stdout) for rate in (100, 600)}


def test_the_response_grows_with_the_rate_and_stays_above_its_mean(answers):
    few, many = (answers[rate] for rate in (100, 600))
    assert (few["method"], few["arrivals"], few["bottleneck"]) == ("simulated", "poisson", "CPU")
    assert few["response_ms"]["value"] < many["response_ms"]["value"] < many["p99_ms"]["value"]
    assert few["utilisation"]["CPU"]["value"] < many["utilisation"]["CPU"]["value"] < 1
    assert many["utilisation"]["CPU"]["high"] <= 1
    assert few["capacity_per_s"] == many["capacity_per_s"]
    assert (many["outside"], many["survives"], many["cores"]) == ([], 1, 2)
    for figure in ("response_ms", "p99_ms", "capacity_per_s"):
        assert many[figure]["low"] < many[figure]["value"] < many[figure]["high"]


def test_little_s_law_holds_against_the_closed_loop(answers):
    """So many jobs as are in flight on average at the rate carry about that rate in a closed loop."""
    in_flight = 600 * answers[600]["response_ms"]["value"] / 1000
    (row,) = json.loads(predicted("--concurrency", f"{in_flight:.0f}", "--format", "json").stdout)["rows"]
    assert row["throughput_per_s"]["value"] == pytest.approx(600, rel=0.35)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rate", "60000"], "60000 requests a second are more than this cluster carries, "),
        (["--rate", "0"], "give a number above 0"),
        (["--rate", "nan"], "'nan' is not a finite number"),
        (["--rate", "100", "--concurrency", "8"], "--rate goes without --concurrency"),
    ],
)
def test_what_cannot_be_answered_is_refused(more, said):
    result = predicted(*more)
    assert result.exit_code == 2
    assert said in result.output
