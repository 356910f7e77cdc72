"""`cassbook predict`."""

from __future__ import annotations

import click
from click.core import ParameterSource

from cassbook.cli.options import Number, NumberRange, Renamed, format_option


@click.command()
@click.option("--run", "name", required=True, metavar="RUN", help="Calibration of a measured cluster.")
@click.option("--nodes", default=4, show_default=True, type=click.IntRange(1), help="Number of nodes, 1 to 1000.")
@click.option("--replication", default=3, show_default=True, type=click.IntRange(1), help="Replicas of each row.")
@click.option("--level", default="ONE", show_default=True, help="Consistency level.")
@click.option(
    "--operation", type=click.Choice(["READ", "UPDATE"]), default="READ", show_default=True, help="Operation."
)
@click.option(
    "--concurrency", "--jobs", "--threads", "jobs", cls=Renamed, default="1..200", show_default=True,
    help="Requests in flight: 45, 1,8,32 or 1..200.",
)  # fmt: skip
@click.option(
    "--rate", type=Number(), metavar="R", help="Requests a second that arrive (Poisson), in place of --concurrency."
)
@click.option("--ask-all", is_flag=True, help="Speculative retry ALWAYS: reads query one replica more.")
@click.option("--length", default=100, show_default=True, help="Bytes of each of a row's ten fields.")
@click.option("--cores", type=click.IntRange(1), help="Cores of the one machine of all nodes. Default: as measured.")
@click.option(
    "--disk-ms", default=0.0, show_default=True, type=NumberRange(0), help="Disk time of a replica's request, ms."
)
@format_option("text", "json")
def predict(
    name: str, nodes: int, replication: int, level: str, operation: str, jobs: str, rate: float | None, ask_all: bool,
    length: int, cores: int | None, disk_ms: float, form: str,
) -> None:  # fmt: skip
    """Predict throughput and response time of a cluster that was not built.

    It is computed by a queueing network from the calibration of a cluster that was measured, whose nodes and client
    share the cores of one machine; so do those of the answer. With --rate requests arrive whether others are answered
    or not: the answer is the response time (mean and p99), how busy each station is, and the rate that is carried.
    """
    from cassbook.cli.answers import predict as answer
    from cassbook.core.errors import InputError
    from cassbook.queueing.calibration import Question
    from cassbook.records.calibration import CalibrationRun

    question = Question(operation, level, nodes, replication, ask_all)
    calibration = CalibrationRun(name)
    if rate is not None:
        if click.get_current_context().get_parameter_source("jobs") is not ParameterSource.DEFAULT:
            raise InputError("--rate goes without --concurrency: one asks for arrivals, the other for a closed loop")
        opened = calibration.predict_open(question, rate, length, cores or 0, disk_ms)
        click.echo((answer.open_as_json if form == "json" else answer.open_text)(question, opened))
        return
    predicted = calibration.predict(question, answer.jobs_of(jobs), length, cores or 0, disk_ms)
    answer.check(calibration, question, predicted)
    click.echo((answer.as_json if form == "json" else answer.text)(question, predicted))
