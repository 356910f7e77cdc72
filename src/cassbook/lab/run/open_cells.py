"""Cells under open arrivals: which there are, in which order, how long they take and how much they ask at most.

They are what the sections in `profile.open` ask for. All cells of a mix in a block are its ladder: what its settings
carry is looked for before the first and after the last of them. Behind all ladders stand those with trouble, at the
rates that the same mix had without it: nodes that hang, nodes that are killed, then mixes while a node is dead.
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
from cassbook.profile.open import BY_HAND, OpenSection, mix_name, of_place
from cassbook.profile.profile import Profile

#: How long a trial of a rate lasts, and each setting's closed loop next to a ladder, which shows what changed.
TRIAL_S, AGAIN_S = 20.0, 4.0
#: What a trial's window leaves unanswered is sent for this part of it longer.
TRIAL_PATIENCE = 0.25
#: Replicas that are further behind at the end of a trial do not keep up: a fortieth of what arrived is still to do.
MOST_BEHIND_S = 0.5
#: So many trials find what a setting carries, mostly, in a first block and in one that knows what the last one found;
#: and at most, for estimates of what is written; each may be made twice.
_FIRST_TRIALS, _TRIALS, MOST_TRIALS = 4.5, 2.7, 8
#: So many rounds of half the cap are a ladder's warm-up, mostly; and at most.
_ROUNDS, MOST_ROUNDS = 3.5, 10
#: What a trial, or a round of closed loops, takes longer than it lasts: the last is answered, its samples are written.
_AFTER_S = 3.0
#: While all is cold, so many more may fail: connections and code are new, and one busy moment is not what rates do.
MOST_FAILED_COLD = 0.1
#: Between two segments all requests are answered, and a few milliseconds of samples are written.
_BETWEEN_S = 0.3
_OVERHEAD_S = 0.35
#: What a cell is called that is measured in turn while a node is dead, and all others know it.
DEAD_NODE = "dead_node"
#: Parts of a load under which a node is struck, each a cell of its own: until then, until all others take the node for
#: dead, and from then on; and what was asked of the struck node itself, which is in none of the two last.
PARTS = ("before", "unnoticed", "noticed", "asked")
#: Before a strike, and for how long others have to notice it.
BEFORE_S, UNNOTICED_S = 10.0, 30.0
#: About how long a node takes to be back: killed and started again, or let go on.
_BACK_S = {"kill": 45.0, "pause": 15.0, BY_HAND: 120.0}
#: How long a person has, from stopping a node, until the others have noticed it.
_BY_HAND_S = 180.0


@dataclass(frozen=True, slots=True)
class _Mix:
    """Statements in fixed shares: a workload, or reads and updates of YCSB's table."""

    name: str  # as cells are called
    workload: str  # empty for YCSB's table at a read share
    read_share: float


def cells(profile: Profile, block: int, place: int, deployment: str = "") -> list[Cell]:
    """Cells of kind open of one block (from 1), in the order they are measured; `place` is the first's `order`.

    The ladders are in random order. In each, rates in turn and cells alone are in random order too, or, where the
    profile says `rising`, the rates in turn from the lowest up and the cells alone behind them. Trouble comes last.
    """
    parts = [part for part in profile.open if block <= part.repeats]
    if not parts:
        return []
    names = list(profile.distance.deployments) if profile.distance else []
    seed = [profile.seed, block, 5, *([names.index(deployment)] if names else [])]
    rng, drawn = np.random.default_rng(seed), list[Cell]()
    start = f"b{block}-{deployment}-open" if deployment else f"b{block}-open"
    maker = _Maker(profile, block, start, deployment)
    conditions = dict.fromkeys(part.condition for part in parts if not part.trouble)
    whole = {name: [part for part in parts if part.condition == name] for name in conditions}
    ladders = [(mix, own) for own in whole.values() for mix in _mixes(profile, own)]
    for mix, of_condition in (ladders[k] for k in rng.permutation(len(ladders))):
        own = [part for part in of_condition if mix.name in part.mixes]
        units = [unit for part in own for unit in maker.in_turn(part, mix)]
        units.sort(key=lambda unit: unit[0].rate_per_s if math.isnan(unit[0].load_share) else unit[0].load_share)
        units += [unit for part in own for unit in maker.alone(part, mix)]
        order = range(len(units)) if own[0].rising else rng.permutation(len(units))
        drawn += [cell for k in order for cell in units[k]]
    for trouble in ("pause", "kill", BY_HAND, DEAD_NODE):
        own = [part for part in parts if part.trouble == trouble]
        made = maker.in_turn if trouble == DEAD_NODE else maker.struck
        units = [unit for part in own for mix in _mixes(profile, [part]) for unit in made(part, mix)]
        drawn += [cell for k in rng.permutation(len(units)) for cell in units[k]]
    return [replace(cell, order=at) for at, cell in enumerate(drawn, start=place)]


def _mixes(profile: Profile, parts: Sequence[OpenSection]) -> list[_Mix]:
    """Return the mixes of some sections, each once: YCSB's table at shares of reads, then workloads."""
    known = {name: read_share(preset.shares) for name, preset in PRESETS.items()}
    if profile.workloads:
        known |= {own.name: read_share(own_shares(own)) for own in profile.workloads.own}
    shares = dict.fromkeys(share for part in parts for share in part.read_shares)
    workloads = dict.fromkeys(name for part in parts for name in part.workloads)
    of_table = [_Mix(mix_name(share), "", share) for share in shares]
    return of_table + [_Mix(name, name, known[name]) for name in workloads]


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the cells of a block; all their identifiers have one `start`."""

    profile: Profile
    block: int
    start: str
    deployment: str

    def in_turn(self, part: OpenSection, mix: _Mix) -> Iterator[list[Cell]]:
        """Yield the group of each rate: all settings, also where there is one."""
        for at in part.load_shares or part.rates_per_s or []:
            group = self._group(part, mix, at)
            cells = self._of_settings(part, mix, at, group)
            yield [replace(cell, cell_group=group, condition=part.condition) for cell in cells]

    def struck(self, part: OpenSection, mix: _Mix) -> Iterator[list[Cell]]:
        """Yield, for each setting at each rate, the cells of a load under which a node is struck."""
        for at in part.load_shares or part.rates_per_s or []:
            for cell in self._of_settings(part, mix, at, self._group(part, mix, at)):
                yield [
                    replace(
                        cell, cell_id=f"{cell.cell_id}-{each}", cell_group=cell.cell_id,
                        condition=f"{part.trouble}_{each}",
                    )
                    for each in PARTS
                ]  # fmt: skip

    def alone(self, part: OpenSection, mix: _Mix) -> Iterator[list[Cell]]:
        """Yield each setting at shares of its own; of one setting those are the load shares already."""
        if len(part.settings) == 1:
            return
        for share in sorted(part.own_shares):
            start = f"{self.start}-{mix.name}-own{share:g}{_behind(part)}"
            for cell in self._of_settings(part, mix, math.nan, start):
                yield [replace(cell, own_share=share, condition=part.condition)]

    def _group(self, part: OpenSection, mix: _Mix, at: float) -> str:
        return f"{self.start}-{mix.name}-{'share' if part.load_shares else 'rate'}{at:g}{_behind(part)}"

    def _of_settings(self, part: OpenSection, mix: _Mix, at: float, start: str) -> list[Cell]:
        """Return a cell of each setting; the name of a group is what their identifiers start with."""
        share, rate_per_s = (at, math.nan) if part.load_shares else (math.nan, at)
        made = []
        for name in part.settings:
            pair = self.profile.setting(name)
            cell_id = f"{start}-{name.replace('/', '+')}"
            made.append(Cell(cell_id, OPEN, part.most_in_flight, pair.read_cl, pair.write_cl, mix.read_share,
                             self.block, self.block, 0, mix.workload, deployment=self.deployment,
                             arrivals=part.arrivals, load_share=share, rate_per_s=rate_per_s))  # fmt: skip
        return made


def _behind(part: OpenSection) -> str:
    """What identifiers of a section's cells have behind the place."""
    return f"-{part.condition.replace('_', '-')}" if part.condition else ""


def condition_of(cell: Cell) -> str:
    """Return what a cell under open arrivals meets, as its section has it.

    >>> condition_of(Cell("b1-x", "open", 64, "ONE", "ONE", 1.0, 1, 1, 0, condition="kill_before"))
    'kill'
    """
    strike, _, part = cell.condition.partition("_")
    return strike if part in PARTS else cell.condition


def section_of(profile: Profile, cell: Cell) -> OpenSection:
    """Return the section that asks for a cell of kind open."""
    mix, alone = cell.workload or mix_name(cell.read_share), not cell.cell_group
    at = cell.own_share if alone else cell.rate_per_s if math.isnan(cell.load_share) else cell.load_share
    return of_place(profile.open, mix, condition_of(cell), at, alone)


def left_out(profile: Profile) -> list[str]:
    """Return, in sentences, what a section names and no cell measures."""
    return [
        f"open.own_shares: {part.settings[0]} is the only setting, and its own shares are load shares already"
        for part in profile.open
        if len(part.settings) == 1 and part.own_shares
    ]


def in_turn(profile: Profile) -> list[str]:
    """Say how the settings of a rate share the time; nothing without a section."""
    if not profile.open:
        return []
    lengths = " or ".join(f"{length_s:g}" for length_s in sorted({part.segment_s for part in profile.open}))
    return [
        f"open: settings are measured in turn at each rate, in segments of {lengths} s, and nothing is in flight "
        "between them"
    ]


def rounds(part: OpenSection) -> int:
    """How many segments each setting has at each rate."""
    return math.ceil(part.measured_s / part.segment_s)


def _tries(part: OpenSection) -> bool:
    """Whether each setting is tried at each rate before it takes turns there: its turns may show that as well."""
    return not (part.find_capacity or part.until_known)


def strike_seconds(part: OpenSection) -> float:
    """How long the load lasts under which a node is struck, without its lead-in."""
    return BEFORE_S + (_BY_HAND_S if part.trouble == BY_HAND else UNNOTICED_S) + part.measured_s


def seconds(profile: Profile, group: Group) -> float:
    """About how long a group takes, without what its ladder takes before and after it.

    Where capacity is not looked for, each setting may be tried at each rate first.
    """
    part = section_of(profile, group[0])
    if part.trouble in _BACK_S:
        return part.lead_in_s + strike_seconds(part) + _BACK_S[part.trouble] + _OVERHEAD_S
    segment_s = part.lead_in_s + part.measured_s / rounds(part) + _BETWEEN_S
    trials_s = part.lead_in_s + TRIAL_S if _tries(part) else 0.0
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
        if kind == OPEN and not (part := section_of(profile, ladder[0][0])).trouble:
            settings = len({(cell.read_cl, cell.write_cl) for group in ladder for cell in group})
            trials = _FIRST_TRIALS if ladder[0][0].block == 1 else _TRIALS
            trials_s = settings * trials * (part.lead_in_s + TRIAL_S + _AFTER_S)
            closed_s = part.lead_in_s + settings * AGAIN_S + _AFTER_S
            cap_s = profile.warm_up.cap_s
            warm_up_s = cap_s if part.rates_bound else _ROUNDS * (cap_s / 2 + _AFTER_S)
            extra[0] += warm_up_s + (trials_s + closed_s if part.find_capacity else 0.0)
            extra[-1] += closed_s if part.find_capacity else 0.0
        found += extra
    return found


def requests(profile: Profile, cell: Cell, carried_per_s: float) -> float:
    """How many requests an open cell asks for, with its trial where capacity is not looked for.

    `carried_per_s`: what the weakest setting carries, for cells at a share.
    """
    part = section_of(profile, cell)
    share = cell.own_share if math.isnan(cell.load_share) else cell.load_share
    per_s = cell.rate_per_s if cell.rate_per_s > 0 else share * carried_per_s
    if part.trouble in _BACK_S:
        return per_s * (part.lead_in_s + strike_seconds(part)) / len(PARTS)
    trial_s = part.lead_in_s + TRIAL_S if _tries(part) else 0.0
    return per_s * (rounds(part) * part.lead_in_s + part.measured_s + trial_s)


def most_warm_up_s(profile: Profile, part: OpenSection) -> float:
    """Most seconds that the warm-up of a section's ladder takes."""
    return profile.warm_up.cap_s * (1.0 if part.rates_bound else MOST_ROUNDS / 2)


def _ladder(group: Group) -> tuple[str, str, float, str]:
    """What the groups of a ladder have in common."""
    cell = group[0]
    if cell.kind != OPEN:
        return cell.kind, "", math.inf, ""
    return OPEN, cell.workload, cell.read_share, cell.condition
