"""What the commands share: options that mean the same everywhere, and messages."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.types import FloatParamType

from cassbook.core.releases import DEFAULT_ENGINE, RELEASES

F = TypeVar("F", bound=Callable[..., Any])

#: A message for a person, on standard error, so that standard output holds the answer alone.
log = functools.partial(click.echo, err=True)


class _Finite(click.ParamType):
    """A number that is one: click takes `inf`, and finds `nan` in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it as a float; click's own error says what is wrong."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Number(_Finite, FloatParamType):
    """A finite number."""


class NumberRange(_Finite, click.FloatRange):
    """A finite number within a range."""


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


def check_page(output: Path, force: bool) -> None:
    """Refuse (InputError) a page that cannot be written, before anything is measured or read."""
    from cassbook.core.errors import InputError

    if output.exists() and (output.is_dir() or not force):
        wrong = "is a folder; name a file" if output.is_dir() else "exists; --force overwrites it"
        raise InputError(f"--output {output}: {wrong}")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}")


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


def by_option(describe: str, default: str = "mean") -> Callable[[F], F]:
    """`--by`: the mean or a percentile of latency.

    The names are `latency.percentiles.FIGURES`, written out because completion loads no science.
    """
    return click.option(
        "--by", type=click.Choice(["mean", "p50", "p95", "p99", "p99.9"]), default=default, show_default=True,
        help=describe,
    )  # fmt: skip


def logs_options(command: F) -> F:
    """How logs of other tools are read: `--unit`, `--reads`, `--stress-profile` and `--skip-damaged`, as `options`."""

    @functools.wraps(command)
    def with_options(*args: Any, **given: Any) -> Any:
        from cassbook.ingest.common import Options

        names = ("unit", "reads", "stress_profile", "skip_damaged")
        how = {name: given.pop(name) for name in names}
        how["reads"] = tuple(name for name in how["reads"].split(",") if name)
        return command(*args, options=Options(**how), **given)

    for option in (
        skip_damaged_option, unit_option,
        click.option(
            "--reads", default="", metavar="NAME,...",
            help="Operations of a log that read, among those whose names its tool does not give; the others write.",
        ),
        click.option(
            "--stress-profile", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
            help="User profile (YAML) of cassandra-stress, whose statements say which operations of a log read.",
        ),
    ):  # fmt: skip
        with_options = option(with_options)
    return cast(F, with_options)


#: Shared with `cassbook read`.
skip_damaged_option = click.option(
    "--skip-damaged", is_flag=True,
    help="Leave damaged lines out and count them; read what can be unpacked, and tests that failed. Default: refuse.",
)  # fmt: skip
unit_option = click.option(
    "--unit",
    type=click.Choice(["ns", "us", "ms"]),
    help="Unit of an HdrHistogram log. Default: as its tool is known to write, else us, which the answer then says.",
)


def engine_option(default: str | None = DEFAULT_ENGINE, otherwise: str = "the profile's") -> Callable[[F], F]:
    """`--engine`; without a default of its own, help names where it comes from otherwise."""
    versions = f"Cassandra version: {', '.join(RELEASES)}."
    if default is None:
        return click.option("--engine", help=f"{versions} Default: {otherwise}.")
    return click.option("--engine", default=default, show_default=True, help=versions)
