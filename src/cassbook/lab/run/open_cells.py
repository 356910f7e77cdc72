"""Cells under open arrivals: which there are, in which order, how long they take and how much they ask at most.

They are what the section in `profile.open` asks for. All cells of a mix in a block are its ladder: what its settings
carry is looked for before the first and after the last of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from cassbook.core.schema import OPEN
from cassbook.lab.load.core_workloads import PRESETS, read_share
from cassbook.lab.load.statements import own_shares
from cassbook.lab.run.cell import Cell, Group
from cassbook.profile.open import OpenSection, mix_name
from cassbook.profile.profile import Profile

#: How long the closed loop runs that guesses what a setting carries, and how long a trial of a rate.
GUESS_S, TRIAL_S = 10.0, 20.0
#: So many trials find what a setting carries, mostly; and at most, for estimates of what is written.
_TRIALS, MOST_TRIALS = 2, 6
#: On a cluster that people depend on, what ends a ladder: so many failures, or p99 over so many times the bound.
MOST_FAILED, MOST_BOUNDS = 0.01, 10.0
#: Between two segments all requests are answered, and a few milliseconds of samples are written.
_BETWEEN_S = 0.5
_OVERHEAD_S = 0.35


@dataclass(frozen=True, slots=True)
class _Mix:
    """Statements in fixed shares: a workload, or reads and updates of YCSB's table."""

    name: str  # as cells are called
    workload: str  # empty for YCSB's table at a read share
    read_share: float


def cells(profile: Profile, block: int, place: int) -> list[Cell]:
    """Cells of kind open of one block (from 1), in the order they are measured; `place` is the first's `order`.

    The ladders are in random order. In each, rates in turn and cells alone are in random order too, or, where the
    profile says `rising`, the rates in turn from the lowest up and the cells alone behind them.
    """
    part = profile.open
    if part is None or block > part.repeats:
        return []
    rng, mixes = np.random.default_rng([profile.seed, block, 5]), _mixes(profile, part)
    drawn: list[Cell] = []
    for mix in (mixes[k] for k in rng.permutation(len(mixes))):
        units = [*_in_turn(profile, mix, block), *_alone(profile, mix, block)]
        order = range(len(units)) if part.rising else rng.permutation(len(units))
        drawn += [cell for k in order for cell in units[k]]
    return [replace(cell, order=at) for at, cell in enumerate(drawn, start=place)]


def _mixes(profile: Profile, part: OpenSection) -> list[_Mix]:
    shares = {name: read_share(preset.shares) for name, preset in PRESETS.items()}
    if profile.workloads:
        shares |= {own.name: read_share(own_shares(own)) for own in profile.workloads.own}
    mixes = [_Mix(mix_name(share), "", share) for share in part.read_shares]
    return mixes + [_Mix(name, name, shares[name]) for name in part.workloads]


def _in_turn(profile: Profile, mix: _Mix, block: int) -> Iterator[list[Cell]]:
    """Yield the group of each rate, from the lowest up: all settings, also where there is one."""
    part, name = _of(profile), f"b{block}-open-{mix.name}"
    for share in sorted(part.load_shares or []):
        group = f"{name}-share{share:g}"
        yield [replace(cell, load_share=share, cell_group=group) for cell in _of_settings(profile, mix, block, group)]
    for rate_per_s in sorted(part.rates_per_s or []):
        group = f"{name}-rate{rate_per_s:g}"
        of_settings = _of_settings(profile, mix, block, group)
        yield [replace(cell, rate_per_s=rate_per_s, cell_group=group) for cell in of_settings]


def _alone(profile: Profile, mix: _Mix, block: int) -> Iterator[list[Cell]]:
    """Yield each setting at shares of its own; of one setting those are the load shares already."""
    part = _of(profile)
    if len(part.settings) == 1:
        return
    for share in sorted(part.own_shares):
        for cell in _of_settings(profile, mix, block, f"b{block}-open-{mix.name}-own{share:g}"):
            yield [replace(cell, own_share=share)]


def _of_settings(profile: Profile, mix: _Mix, block: int, start: str) -> list[Cell]:
    """Return a cell of each setting; the name of a group is what their identifiers start with."""
    part, made = _of(profile), []
    for name in part.settings:
        pair = profile.setting(name)
        made.append(Cell(f"{start}-{name.replace('/', '+')}", OPEN, part.most_in_flight, pair.read_cl, pair.write_cl,
                         mix.read_share, block, block, 0, mix.workload, arrivals=part.arrivals))  # fmt: skip
    return made


def left_out(profile: Profile) -> list[str]:
    """Return, in sentences, what the section names and no cell measures."""
    part = profile.open
    if part is None or len(part.settings) > 1 or not part.own_shares:
        return []
    return [f"open.own_shares: {part.settings[0]} is the only setting, and its own shares are load shares already"]


def in_turn(profile: Profile) -> list[str]:
    """Say how the settings of a rate share the time; nothing without the section."""
    part = profile.open
    if part is None:
        return []
    return [
        f"open: settings are measured in turn at each rate, in segments of {part.segment_s:g} s, and nothing is in "
        "flight between them"
    ]


def rounds(part: OpenSection) -> int:
    """How many segments each setting has at each rate."""
    return math.ceil(part.measured_s / part.segment_s)


def seconds(profile: Profile, group: Group) -> float:
    """About how long a group takes, without what its ladder takes before and after it.

    Where capacity is not looked for, each setting is tried at each rate first.
    """
    part = _of(profile)
    segment_s = part.lead_in_s + part.measured_s / rounds(part) + _BETWEEN_S
    trials_s = 0.0 if part.find_capacity else part.lead_in_s + TRIAL_S
    return (segment_s * rounds(part) + trials_s) * len(group) + _OVERHEAD_S


def trial_seconds(profile: Profile, of_start: Sequence[Group]) -> list[float]:
    """About how long what settings carry is looked for, next to each group of one cluster start, in order.

    A ladder begins with a warm-up of all its settings. Its first group has what comes before it, its last what comes
    after it; other groups, and those of other kinds, have 0.
    """
    found: list[float] = []
    for (kind, *_), together in groupby(of_start, key=_ladder):
        ladder = list(together)
        extra = [0.0] * len(ladder)
        if kind == OPEN:
            part = _of(profile)
            settings = len({(cell.read_cl, cell.write_cl) for group in ladder for cell in group})
            search_s = settings * (GUESS_S + _TRIALS * TRIAL_S) if part.find_capacity else 0.0
            extra[0] += profile.warm_up.cap_s + search_s
            extra[-1] += search_s
        found += extra
    return found


def most_requests(profile: Profile, cell: Cell, most_per_s: float) -> float:
    """Most requests that an open cell asks for, its trial included, at a rate that a client cannot exceed.

    Arrivals go on after what counts until that is answered, at most for the time-out of a request.
    """
    part = _of(profile)
    per_s = most_per_s if math.isnan(cell.rate_per_s) else min(cell.rate_per_s, most_per_s)
    after_s = profile.load.request_timeout_s
    whole_s = rounds(part) * (part.lead_in_s + after_s) + part.measured_s
    return per_s * (whole_s + (0.0 if part.find_capacity else part.lead_in_s + TRIAL_S + after_s))


def ladder_seconds(profile: Profile, of_ladder: Sequence[Cell]) -> float:
    """Most seconds for which a ladder loads a cluster as much as it can carry: its warm-up, and its search twice."""
    part = _of(profile)
    settings = len({(cell.read_cl, cell.write_cl) for cell in of_ladder})
    search_s = part.lead_in_s + GUESS_S + MOST_TRIALS * (part.lead_in_s + TRIAL_S + profile.load.request_timeout_s)
    return profile.warm_up.cap_s + (2 * settings * search_s if part.find_capacity else 0.0)


def _ladder(group: Group) -> tuple[str, str, float]:
    """What the groups of a ladder have in common."""
    cell = group[0]
    return (OPEN, cell.workload, cell.read_share) if cell.kind == OPEN else (cell.kind, "", math.inf)


def _of(profile: Profile) -> OpenSection:
    assert profile.open is not None  # noqa: S101 - the cells come from it
    return profile.open
