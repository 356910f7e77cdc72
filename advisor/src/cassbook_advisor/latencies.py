"""Latency of settings over load and share of reads, and limits that they keep, as a file of JSON says.

`cassbook advise --run RUN --map --format json` writes such a file, and so does `cassbook decide`. A figure between two
points of its grid is interpolated linearly, over the load and over the share of reads; one outside has none.
"""

from __future__ import annotations

import json
import logging
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from cassbook_advisor.errors import InputError
from cassbook_advisor.levels import Pair, Setting
from cassbook_advisor.window import Load

#: What the files say of themselves; a later version adds to it or has another number.
SCHEMA, VERSION = "cassbook-advisor", 1
#: Of what `cassbook decide` writes, which has a map inside.
DECISION = "cassbook-decision"
#: What the load counts in: requests in flight, or requests that arrive in a second.
IN_FLIGHT, RATE = "in flight", "rate"
#: A file of longer ago is refused unless somebody says otherwise.
MAX_AGE_DAYS = 366.0
_DAY_S = 86_400.0
#: Shares of reads that differ by no more are the same mix, where a file has one alone.
_SAME_MIX = 0.1
_log = logging.getLogger("cassbook.advisor")


class Measured(Protocol):
    """What a policy needs: figures of settings by block at a load. A map of cassbook's is one too."""

    @property
    def name(self) -> str:
        """The run, for messages."""

    @property
    def by(self) -> str:
        """The figure that settings are judged by: 'mean' or a percentile."""

    @property
    def replicas(self) -> int:
        """The replication factor at which it was measured."""

    @property
    def settings(self) -> Sequence[Pair]:
        """Those that may be chosen."""

    @property
    def blocks(self) -> Sequence[int]:
        """Cluster starts."""

    def judged_by(self, by: str) -> Measured:
        """Return the same by another figure; InputError where it does not have that."""

    def at(self, load: Load) -> Mapping[str, Sequence[float]]:
        """Latency in us by setting's name, block by block; NaN where it is not known."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What is known of a setting and the limits that a service has.

    Attributes
    ----------
    keeps : bool or None
        Whether it keeps all of them at the rates that were asked about; None where that is not known.
    to_per_s : float or None
        The highest rate to which it is known to.
    why : str
        The limit that it breaks, or what is lacking.
    """

    keeps: bool | None
    to_per_s: float | None = None
    why: str = ""

    def allows(self, per_s: float) -> bool:
        """Whether the setting may be chosen at a rate: it is known to keep all limits there."""
        return self.keeps is True and (self.to_per_s is None or per_s <= self.to_per_s)


@dataclass(frozen=True, slots=True)
class Latencies:
    """A file that has been read.

    Attributes
    ----------
    name, engine, measured : str
        The run, its version of Cassandra, and when it was measured, in ISO 8601.
    replicas : int
    data_centre : str
        The one that LOCAL levels are of; empty where the run had one.
    by : str
        'mean', 'p50', 'p95', 'p99' or 'p99.9'.
    load : str
        `IN_FLIGHT` or `RATE`.
    loads, read_shares : tuple of float
        The grid, ascending.
    settings : tuple of Setting
    figures_us : mapping of str to tuple
        By setting's name [block][share of reads][load]; NaN where it is not known.
    limits : mapping of str to Limit
        By setting's name; empty where the file has none.
    """

    name: str
    engine: str
    measured: str
    replicas: int
    by: str
    load: str
    loads: tuple[float, ...]
    read_shares: tuple[float, ...]
    settings: tuple[Setting, ...]
    figures_us: Mapping[str, tuple[tuple[tuple[float, ...], ...], ...]] = field(repr=False)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    data_centre: str = ""

    @property
    def blocks(self) -> tuple[int, ...]:
        """Cluster starts, from 1."""
        return tuple(range(1, 1 + max((len(own) for own in self.figures_us.values()), default=0)))

    def judged_by(self, by: str) -> Latencies:
        """Return itself.

        Raises
        ------
        InputError
            For another figure than the file has.
        """
        if by != self.by:
            raise InputError(f"by: {self.name} has {self.by}, not {by}; write another file with --by {by}")
        return self

    def at(self, load: Load) -> dict[str, tuple[float, ...]]:
        """Latency in us by setting's name, block by block; NaN outside what was measured."""
        x = load.per_s if self.load == RATE else load.in_flight
        share = load.read_share
        if len(self.read_shares) == 1 and abs(share - self.read_shares[0]) <= _SAME_MIX:
            share = self.read_shares[0]
        across, along = _weights(self.read_shares, share), _weights(self.loads, x)
        return {
            name: tuple(_between(block, across, along) for block in blocks) for name, blocks in self.figures_us.items()
        }  # fmt: skip

    @classmethod
    def of_file(cls, path: str | Path, max_age_days: float = MAX_AGE_DAYS) -> Latencies:
        """Read a file.

        Parameters
        ----------
        path : str or Path
        max_age_days : float
            What was measured longer ago is refused: another cluster answers by now.

        Raises
        ------
        InputError
            For a file that cannot be read, is of another schema or version, or is too old, with what would be right.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        except ValueError as error:
            raise InputError(
                f"{path}: is no JSON ({error}); write it with cassbook advise --map --format json"
            ) from None
        found = cls.of_json(content, str(path))
        _check_age(found, str(path), max_age_days)
        return found

    @classmethod
    def of_json(cls, content: Any, where: str = "map") -> Latencies:
        """Take what a file holds, a map or a decision; InputError as of `of_file`, each naming `where`."""
        if isinstance(content, dict) and content.get("schema") == DECISION:
            content = content.get("adviser")  # the map that it was made from
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise InputError(
                f"{where}: is not of schema {SCHEMA!r}; write it with cassbook advise --run RUN --map --format json, "
                "or with cassbook decide --format json"
            )
        if content.get("version") != VERSION:
            raise InputError(
                f"{where}: is version {content.get('version')!r} of its schema, this package reads {VERSION}; install "
                "the release of cassbook-advisor that goes with the cassbook that wrote it"
            )
        try:
            return _read(content, where)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, InputError):
                raise
            what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{where}: is damaged: {what}") from None


def _read(content: Mapping[str, Any], where: str) -> Latencies:
    loads, shares = (tuple(map(float, content[name])) for name in ("loads", "read_shares"))
    if content["load"] not in {IN_FLIGHT, RATE}:
        raise InputError(f"{where}: load: {content['load']!r} is neither {IN_FLIGHT!r} nor {RATE!r}")
    for name, values in (("loads", loads), ("read_shares", shares)):
        if not values or list(values) != sorted(set(values)):
            raise InputError(f"{where}: {name}: are not ascending numbers")
    settings, figures, limits = [], {}, {}
    for one in content["settings"]:
        settings.append(Setting(one["name"], one["read_cl"], one["write_cl"]))
        blocks = tuple(tuple(tuple(map(_number, row)) for row in block) for block in one["latency_us"])
        if any(len(block) != len(shares) or any(len(row) != len(loads) for row in block) for block in blocks):
            raise InputError(f"{where}: latency_us of {one['name']}: is not by block, share of reads and load")
        figures[one["name"]] = blocks
        if (limit := one.get("limit")) is not None:
            limits[one["name"]] = Limit(limit["keeps"], limit.get("to_per_s"), str(limit.get("why", "")))
    if not settings:
        raise InputError(f"{where}: has no settings")
    return Latencies(
        name=str(content["run"]), engine=str(content.get("engine", "")), measured=str(content["measured"]),
        replicas=int(content["replication"]), by=str(content["by"]), load=str(content["load"]), loads=loads,
        read_shares=shares, settings=tuple(settings), figures_us=figures, limits=limits,
        data_centre=str(content.get("data_centre") or ""),
    )  # fmt: skip


def _check_age(found: Latencies, where: str, max_age_days: float) -> None:
    """Say in the log what the file is of; refuse one that is too old."""
    try:
        measured = datetime.fromisoformat(found.measured)
    except ValueError:
        raise InputError(f"{where}: measured: {found.measured!r} is no date in ISO 8601") from None
    if measured.tzinfo is None:
        measured = measured.replace(tzinfo=UTC)
    age_days = (datetime.now(UTC) - measured).total_seconds() / _DAY_S
    _log.info("%s: run %s, Cassandra %s, measured %s", where, found.name, found.engine, f"{measured:%Y-%m-%d}")
    if age_days > max_age_days:
        raise InputError(
            f"{where}: run {found.name} was measured {measured:%Y-%m-%d}, {age_days:.0f} days ago, more than "
            f"{max_age_days:g}; measure again, or give max_age_days"
        )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _weights(points: Sequence[float], x: float) -> tuple[tuple[int, float], ...]:
    """Places on a grid and their weights at a point; none outside of it."""
    if not points[0] <= x <= points[-1]:
        return ()
    right = min(bisect_right(points, x), len(points) - 1)
    left = max(right - 1, 0)
    if left == right or x == points[right]:
        return ((right, 1.0),)
    part = (x - points[left]) / (points[right] - points[left])
    return ((left, 1 - part), (right, part)) if part else ((left, 1.0),)


def _between(
    block: Sequence[Sequence[float]], across: Sequence[tuple[int, float]], along: Sequence[tuple[int, float]]
) -> float:
    if not across or not along:
        return math.nan
    return math.fsum(a * b * block[row][column] for row, a in across for column, b in along)
