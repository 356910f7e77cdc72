"""A local Dask cluster of two workers gives what one process gives."""

import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from distributed import LocalCluster

from cassbook.cli.main import main
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.schema import SAMPLES
from cassbook.ingest.common import Options
from cassbook.ingest.formats import Format
from cassbook.ingest.merge import read_logs
from cassbook.ingest.on_dask import read_operations_on
from tests.helpers.data import LOGS
from tests.helpers.tool_logs import easy_stress

YCSB = LOGS / "ycsb-0.17.0"
CLIENTS = [YCSB / "client-1.txt", YCSB / "client-2.txt"]
PARTITION_BYTES = 4000


@pytest.fixture(scope="module")
def address():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        yield cluster.scheduler_address


def on_dask(address, paths, to, **options):
    formats = dict.fromkeys(paths, Format.YCSB_RAW)
    return read_operations_on(address, formats, to, Options(dask=address, **options), PARTITION_BYTES)


def test_two_workers_give_the_same_samples_and_the_same_report(tmp_path, address):
    alone = read_logs(CLIENTS, tmp_path / "run.parquet")
    expected = pq.read_table(tmp_path / "run.parquet")
    (tmp_path / "run.parquet").unlink()
    report = on_dask(address, CLIENTS, tmp_path / "run.parquet")
    table = pq.read_table(tmp_path / "run.parquet")
    assert len(list((tmp_path / "run.parquet").iterdir())) > 10
    assert table.schema.equals(SAMPLES)
    assert report == alone
    for name in SAMPLES.names:
        assert table[name].to_pylist() == expected[name].to_pylist()
    first = next((tmp_path / "run.parquet").iterdir())
    logs = json.loads(pq.read_schema(first).metadata[b"cassbook_logs"])
    assert [log["file"] for log in logs] == ["client-1.txt", "client-2.txt"]
    assert not list(tmp_path.glob("*.draft"))


def test_the_command_takes_the_address(tmp_path, address):
    done = CliRunner().invoke(
        main, ["read", *map(str, CLIENTS), "--to", str(tmp_path / "out.parquet"), "--dask", address]
    )
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out.parquet").num_rows > 1500


def test_a_damaged_line_in_a_late_partition_has_its_number_in_the_file(tmp_path, address):
    lines = CLIENTS[0].read_text().splitlines()
    place = max(i for i, line in enumerate(lines) if line.startswith("UPDATE,")) - 3
    lines[place] = "UPDATE,1x,5"
    damaged = tmp_path / "damaged.txt"
    damaged.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"damaged\.txt, line {place + 1}: 'UPDATE,1x,5'"):
        on_dask(address, [damaged], tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.txt"]
    report = "\n".join(on_dask(address, [damaged], tmp_path / "out.parquet", skip_damaged=True).lines)
    assert f"line {place + 1}: 'UPDATE,1x,5'" in report
    assert "1 damaged lines left out" in report


def test_easy_stress_is_one_partition(tmp_path, address):
    path = easy_stress(tmp_path / "rawlog.parquet")
    alone = read_logs([path], tmp_path / "a.parquet")
    report = read_logs([path], tmp_path / "b.parquet", Options(dask=address))
    assert report.lines[:-1] == alone.lines[:-1]
    expected, table = pq.read_table(tmp_path / "a.parquet"), pq.read_table(tmp_path / "b.parquet")
    assert table["started_s"].to_pylist() == expected["started_s"].to_pylist()


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("cassbook.ingest.on_dask._CONNECT_S", 1)
    with pytest.raises(LaboratoryError, match=r"--dask tcp://127\.0\.0\.1:1: no scheduler answers"):
        read_logs(CLIENTS, tmp_path / "out.parquet", Options(dask="tcp://127.0.0.1:1"))
    assert not list(tmp_path.iterdir())
