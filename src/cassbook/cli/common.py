"""What the commands share: options that mean the same everywhere, and messages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from cassbook.core.releases import DEFAULT_ENGINE, RELEASES

F = TypeVar("F", bound=Callable[..., Any])

#: A message for a person, on standard error, so that standard output holds the answer alone.
log = functools.partial(click.echo, err=True)


class Renamed(click.Option):
    """An option with older names: the first is shown, the others keep working."""

    @contextmanager
    def _newest(self) -> Iterator[None]:
        names, self.opts = self.opts, self.opts[:1]
        try:
            yield
        finally:
            self.opts = names

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return what help says, under the first name."""
        with self._newest():
            return super().get_help_record(ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return what errors call it: the first name."""
        with self._newest():
            return super().get_error_hint(ctx)


def output_option(describe: str, required: bool = False) -> Callable[[F], F]:
    """`--output`, a file or folder to write; `--to` and `--out` are its older names."""
    return click.option(
        "--output", "--to", "--out", "output", cls=Renamed, required=required, type=click.Path(path_type=Path),
        help=describe,
    )  # fmt: skip


def blocks_option(what: str = "Cluster starts per set-up.") -> Callable[[F], F]:
    """`--blocks`; `--starts` and `--repeats` are its older names."""
    return click.option(
        "--blocks", "--starts", "--repeats", "blocks", cls=Renamed, type=click.IntRange(1), default=3,
        show_default=True, help=what,
    )  # fmt: skip


def format_option(*formats: str) -> Callable[[F], F]:
    """`--format`, the first being the default."""
    return click.option(
        "--format", "form", type=click.Choice(formats), default=formats[0], show_default=True, help="Output format."
    )


def by_option(describe: str) -> Callable[[F], F]:
    """`--by`: the mean or a percentile of latency.

    The names are `latency.percentiles.FIGURES`, written out because completion loads no science.
    """
    return click.option(
        "--by", type=click.Choice(["mean", "p50", "p95", "p99", "p99.9"]), default="mean", show_default=True,
        help=describe,
    )  # fmt: skip


def engine_option(default: str | None = DEFAULT_ENGINE, otherwise: str = "the profile's") -> Callable[[F], F]:
    """`--engine`; without a default of its own, help names where it comes from otherwise."""
    versions = f"Cassandra version: {', '.join(RELEASES)}."
    if default is None:
        return click.option("--engine", help=f"{versions} Default: {otherwise}.")
    return click.option("--engine", default=default, show_default=True, help=versions)
