"""Tables of distances, and the links they put between hosts."""

import pytest

from cassbook.core.errors import InputError
from cassbook.deployment.distances import placed, printed, read
from cassbook.deployment.notation import parse

C = parse("{[C], ([R1]}, {R2}, {R3})")


def written(tmp_path, text):
    path = tmp_path / "rtt.csv"
    path.write_text(text)
    return path


def test_the_printed_table_is_the_default():
    distances = printed()
    assert distances.regions == ("us_west_2", "ca_central_1", "eu_west_2", "ap_south_1")
    assert distances.between("us_west_2", "eu_west_2").delay_ms == pytest.approx(135.22 / 2)
    assert distances.between("eu_west_2", "us_west_2").delay_ms == pytest.approx(135.56 / 2)


def test_each_pair_of_hosts_has_a_link():
    placement = placed(C, ("ap_south_1", "eu_west_2", "ca_central_1"))
    links = placement.links()
    assert len(links) == 12
    assert links["C", "R1"].delay_ms == pytest.approx(3.15 / 2)  # two zones of one region
    assert links["R1", "R3"].delay_ms == pytest.approx(188.88 / 2)
    rtt = placement.rtt_ms()
    assert rtt.loc["R1", "R2"] == pytest.approx((111.69 + 111.89) / 2)
    assert rtt.loc["R1", "R1"] == 0


def test_hosts_of_one_zone_are_side_by_side():
    assert placed(parse("C, (R1, R2)"), ("us_west_2",)).rtt_ms().to_numpy().max() == 0


def test_a_table_of_ones_own(tmp_path):
    path = written(tmp_path, "from,to,there_ms,back_ms,jitter_ms,mbit_per_s\nb,s,150,135,4,200\nb,b,1,1,,\n")
    distances = read(path)
    assert (distances.between("b", "s").delay_ms, distances.between("s", "b").delay_ms) == (150, 135)
    assert distances.between("s", "b").jitter_ms == 4
    assert distances.between("b", "s").seconds_per_byte == pytest.approx(4e-8)
    assert distances.scaled(4).between("b", "s").delay_ms == 600
    with pytest.raises(InputError, match="no distance between two zones of s"):
        distances.between("s", "s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to\na,b\n", "column rtt_ms .* is missing"),
        ("from,to,rtt\na,b,3\n", "column rtt is unknown"),
        ("from,to,rtt_ms\n", "holds no distance"),
        ("from,to,rtt_ms\na,b,-3\n", "line 2: delay: -1.5 ms one way is not between"),
        ("from,to,rtt_ms\na,b,3\na,c,99999\n", "line 3: delay: 49999.5 ms"),
        ("from,to,rtt_ms\na,b,far\n", "line 2: rtt_ms is 'far', not a number"),
        ("from,to,rtt_ms\na,b,inf\n", "line 2: rtt_ms is 'inf'"),
        ("from,to,rtt_ms\na,b,\n", "line 2: has no round-trip time"),
        ("from,to,rtt_ms\na,,3\n", "line 2: to is empty"),
        ("from,to,rtt_ms\na,b,3\na,b,4\n", "line 3: a to b stands twice"),
        ("from,to,rtt_ms,jitter_ms\na,b,3,2\n", "line 2: jitter: 2 ms .*the delay, 1.5 ms"),
        ("from,to,rtt_ms,mbit_per_s\na,b,3,0\n", "line 2: bandwidth: 0 Mbit/s"),
        ("from,to,rtt_ms,there_ms,back_ms\na,b,3,2,2\n", "line 2: rtt_ms is 3, there_ms and back_ms make 4"),
        ("from,to,there_ms,back_ms\na,b,3,\n", "line 2: there_ms and back_ms go together"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(written(tmp_path, text))
    assert "rtt.csv" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (("us_west_2",), "has 3, 1 are named"),
        (("us_west_2", "us_west_2", "eu_west_2"), "one stands twice"),
        (("us_west_2", "mars", "eu_west_2"), "there is no region 'mars'; there are us_west_2"),
    ],
)
def test_a_placement_needs_a_region_each(regions, message):
    with pytest.raises(InputError, match=message):
        placed(C, regions)
