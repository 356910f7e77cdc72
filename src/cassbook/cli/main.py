"""The command line. The group knows its commands by name; a command's module is loaded when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple

import click

from cassbook import __version__
from cassbook.cli.options import log
from cassbook.core.errors import InputError, LaboratoryError
from cassbook.core.extras import name_missing
from cassbook.core.signals import Terminated, heeded


class Entry(NamedTuple):
    """Where a command is defined, and how `cassbook --help` lists it."""

    module: str  # of `cassbook.cli`; it defines the command under its own name, with `_` for `-`
    section: str  # one of `SECTIONS`
    summary: str  # the first line of the command's help


SECTIONS = ("Measure", "Answer", "Read", "Book")
COMMANDS = {
    "doctor": Entry("doctor", "Measure", "Report what a cluster needs, what is missing and how to get it."),
    "run": Entry("run", "Measure", "Measure a profile on a local cluster or, with --hosts, on yours."),
    "cluster": Entry(
        "cluster",
        "Measure",
        "Keep a local cluster to try things on: up, status, down, its nodes one by one, and Cassandra's tools.",
    ),
    "experiment": Entry("experiment", "Measure", "Record a live experiment; without a name, list them."),
    "show": Entry("show", "Answer", "Show what a run measured: throughput, percentiles, errors and marks by cell."),
    "decide": Entry(
        "decide", "Answer", "Decide which setting a service should use, by its load and its limits, with the evidence."
    ),
    "advise": Entry(
        "advise", "Answer", "Recommend a strong setting for a load: the fastest that works with a replica down."
    ),
    "capacity": Entry(
        "capacity", "Answer", "Estimate the highest rate at which response times keep a bound, from a ladder of rates."
    ),
    "stale": Entry("stale", "Answer", "Estimate how likely a read misses the last write, and what certainty costs."),
    "deploy": Entry("deploy", "Answer", "Predict latency and throughput of a deployment across regions."),
    "predict": Entry("predict", "Answer", "Predict throughput and response time of a cluster that was not built."),
    "compare": Entry("compare", "Answer", "Compare two runs cell by cell: ratios with 95 % intervals."),
    "claims": Entry("claims", "Answer", "List the quantitative claims of the five texts, recomputed, with a verdict."),
    "read": Entry("read", "Read", "Convert logs of YCSB, cassandra-stress, easy-stress or HdrHistogram to Parquet."),
    "report": Entry("report", "Read", "Write what runs measured as one HTML page to send to a colleague."),
    "export": Entry("export", "Read", "Write the tables of a run as CSV and LaTeX."),
    "book": Entry("book", "Book", "Render the book from recorded runs; needs neither Java nor a cluster."),
    "chapter": Entry("chapter", "Book", "Execute one chapter of the book and print the path of its page."),
    "reproduce": Entry("reproduce", "Book", "Measure a profile through its notebook, then render the book with it."),
}


class Commands(click.Group):
    """The commands of a table, in sections. Its own errors become one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command, or return None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"cassbook.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections with whole summaries; no command is loaded for it."""
        for section in SECTIONS:
            rows = [(name, entry.summary) for name, entry in COMMANDS.items() if entry.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; exit 2 for what was asked or is not installed, 1 for what happened, 130 for Ctrl-C.

        Also 143 for SIGTERM and 129 for SIGHUP, as a shell has it.
        """
        following = list(ctx.args[:1])
        try:
            with heeded(last=True):
                return super().invoke(ctx)
        except InputError as error:
            log(f"cassbook: {error}")
            sys.exit(2)
        except LaboratoryError as error:
            log(f"cassbook: {error}")
            sys.exit(1)
        except ModuleNotFoundError as error:
            missing = name_missing(error, f"`{ctx.invoked_subcommand}`")
            if missing is None:
                raise
            log(f"cassbook: {missing}")
            sys.exit(2)
        except (KeyboardInterrupt, Terminated) as ended:
            log(f"cassbook: interrupted{_what_is_left(ctx.invoked_subcommand, following)}")
            sys.exit(ended.code if isinstance(ended, Terminated) else 130)


_WITH_RESUME = "; what was finished is kept, and the same command with --resume resumes"
_AGAIN = "; what was finished is kept, and the same command resumes"
#: What is left of a command that was interrupted; nothing is said where there is nothing to resume.
_LEFT = {
    "run": _WITH_RESUME,
    "experiment": _WITH_RESUME,
    "reproduce": _AGAIN,
    "book": _AGAIN,
}
_LEFT_OF_CLUSTER = {
    "up": "; what had been started is removed, and the same command begins anew",
    "start": "; the node may still be starting: see `cassbook cluster status`",
    "restart": "; the node may be down or still starting: see `cassbook cluster status`",
}


def _what_is_left(command: str | None, following: list[str]) -> str:
    """Say what an interrupted command leaves and whether it resumes; `following` is what came behind its name."""
    if command == "cluster" and following:
        return _LEFT_OF_CLUSTER.get(following[0], "")
    if command == "decide":  # with --run nothing is measured
        return _WITH_RESUME if any(word.startswith("--profile") for word in following) else ""
    return _LEFT.get(command or "", "")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "terminal_width": 120},
)
@click.version_option(__version__)
def main() -> None:
    """Measure what consistency costs in Apache Cassandra, and render the book about it."""


if __name__ == "__main__":
    main()
