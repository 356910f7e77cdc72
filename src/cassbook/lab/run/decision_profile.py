"""The profile that measures a decision: all settings that may win, at the rate asked for and a little above it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cassbook.core.consistency import Replicas, Setting, levels, strong_settings
from cassbook.core.errors import InputError
from cassbook.core.words import counted
from cassbook.lab.load.core_workloads import read_share
from cassbook.lab.load.statements import own_shares
from cassbook.profile import stress
from cassbook.profile.fields import MOST_PER_S
from cassbook.profile.open import BROKEN, BY_HAND, LEAST_SEGMENT_S, Figure, OpenSection, Trouble
from cassbook.profile.profile import Profile, profile_of, read_yaml

#: Rates as times the one asked for: on a cluster that people depend on, and on one of our own.
_ON_HOSTS, _ON_OURS = (1.0, 1.25), (1.0, 1.25, 1.6)
#: Cluster starts: a cluster that runs is what it is now.
_OURS_STARTS = 3
_LEAD_IN_S = 2.0
#: Besides turns, about: connecting, loading and looking; and starting and warming a cluster of our own.
_ASIDE_S, _START_S = 20.0, 60.0
#: Of the time, what staleness gets where it is asked for; and the part of the rate that its requests are.
_STALE_TIME, _STALE_RATE, _MOST_PROBES_PER_S = 0.35, 0.1, 500.0
#: Rows whose requests are traced.
_TRACED = 1
#: Pairs that may win in several data centres: those that ask most of replicas elsewhere last, weak ones behind them.
_OF_CENTRES = (
    ("LOCAL_QUORUM", "LOCAL_QUORUM"), ("QUORUM", "QUORUM"), ("LOCAL_QUORUM", "EACH_QUORUM"),
    ("LOCAL_ONE", "LOCAL_ONE"), ("LOCAL_ONE", "LOCAL_QUORUM"), ("LOCAL_QUORUM", "LOCAL_ONE"),
)  # fmt: skip
#: Fewer turns than that say nothing.
_LEAST_TURNS = {True: 2, False: 3}  # on clusters of our own, and on others
_MOST_WARM_UP_S = 30.0
#: How long a setting is measured before it is struck, and after the others have noticed.
_UNDER_TROUBLE_S = 15.0


def read(name: str, engine: str | None) -> Profile:
    """Read a profile of which the workloads alone count: how it would be measured otherwise need not be said.

    InputError as `profile.profile_of`; of a user profile of cassandra-stress with how it becomes one of ours.
    """
    path, content = read_yaml(name)
    if stress.is_one(content):
        raise InputError(
            f"{path}: is a user profile of cassandra-stress; cassbook run --profile {path} --convert FILE makes one of "
            "cassbook's of it"
        )
    part = content.get("workloads")
    part = part if isinstance(part, dict) else {}
    own = part.get("own")
    if isinstance(own, list) and not content.get("open") and not part.get("threads"):
        names = [section["name"] for section in own if isinstance(section, dict) and "name" in section]
        content = content | {"open": {"workloads": names, "rates_per_s": [1.0], "settings": ["ONE/ONE"]}}
    return profile_of(content, path, engine=engine)


def candidates(of: Replicas) -> tuple[Setting, ...]:
    """Return the settings that may win: those that are just strong, and weaker ones.

    A setting that waits for more than it takes to be strong is slower than another that survives as much. In several
    data centres they are levels that know of them, and QUORUM; in one, LOCAL_QUORUM is QUORUM.

    >>> [one.levels for one in candidates(Replicas((3,)))]
    ['QUORUM/QUORUM', 'ONE/ALL', 'ALL/ONE', 'ONE/ONE', 'ONE/QUORUM', 'QUORUM/ONE']
    >>> [one.levels for one in candidates(Replicas((1, 1)))]
    ['LOCAL_QUORUM/LOCAL_QUORUM', 'QUORUM/QUORUM', 'LOCAL_QUORUM/EACH_QUORUM']
    """
    if len(of.by_centre) > 1:
        by_wait = dict[object, Setting]()
        for read, write in _OF_CENTRES:
            by_wait.setdefault((of.needed(read), of.needed(write)), Setting(f"{read}/{write}", read, write))
        return tuple(by_wait.values())
    replicas = of.total
    strong = sorted(strong_settings(replicas), key=lambda one: -min(one.survives(replicas)))
    known = levels(replicas)
    weak = [
        Setting(f"{known[r]}/{known[w]}", known[r], known[w])
        for r in known for w in known if r + w <= replicas
    ]  # fmt: skip
    return (*strong, *weak)


def _able(replicas: Replicas, survive: int, any_stale: bool) -> list[Setting]:
    """Return the settings that may win: those that survive so much and, where no read may be stale, are strong."""
    return [
        one for one in candidates(replicas)
        if min(one.survives(replicas)) >= survive and (any_stale or one.strong(replicas))
    ]  # fmt: skip


def check_limits(replicas: Replicas, survive: int, any_stale: bool) -> None:
    """Refuse (InputError) to measure where no setting can survive so many dead replicas, whatever it does otherwise.

    `any_stale`: whether some reads may be stale.
    """
    if not _able(replicas, survive, any_stale):
        most = max(min(one.survives(replicas)) for one in _able(replicas, 0, any_stale))
        what = "no setting" if any_stale else "no setting whose reads see each write"
        weaker = "" if any_stale else ", or allow stale reads with --stale and --after-ms"
        raise InputError(
            f"--survive: {what} survives {counted(survive, 'dead replica')} of {replicas.total}; give {most} or "
            f"less{weaker}"
        )


def profile_for(
    profile: Profile, *, workload: str, rate_per_s: float, by: Figure, bound_ms: float, minutes: float,
    after_ms: float | None = None, survive: int = 0, ours: bool, traces: bool = False, data_centres: int = 1,
) -> Profile:  # fmt: skip
    """Return the profile that measures a decision.

    Parameters
    ----------
    profile : Profile
        With the service's own workload.
    workload : str
        Its name.
    rate_per_s : float
        The service's requests per second.
    by : str
        The figure of the response time that has to keep `bound_ms`.
    minutes : float
        How long the measurement may take, about.
    after_ms : float, optional
        The age of a write at which staleness is asked for; None where no read may be stale.
    survive : int
        Dead replicas that a setting has to survive.
    ours : bool
        Whether clusters are started for it, and not one is measured that people depend on.
    traces : bool
        Whether some requests of the probe are traced.
    data_centres : int
        How many of an existing cluster hold replicas.

    Raises
    ------
    InputError
        Where the time is too short for a turn of each setting, with how long it takes; and for several deployments.
    """
    profile = _in_one_place(profile, data_centres)
    replicas = profile.replicas
    settings = [one.levels for one in candidates(replicas)]
    may_win = _able(replicas, survive, after_ms is not None)
    times = _ON_OURS if ours else _ON_HOSTS
    _check_sent(rate_per_s, max(times), after_ms)
    able, weak = {one.levels for one in may_win}, [one.levels for one in may_win if not one.strong(replicas)]
    rates = [round(one * rate_per_s, 1) for one in times]
    probed, starts = weak if after_ms is not None else [], _OURS_STARTS if ours else 1
    warm_up_s = min(profile.warm_up.cap_s, _MOST_WARM_UP_S)
    aside_s = warm_up_s * (2 if probed else 1) + (_START_S if ours else _ASIDE_S)
    turns = len(settings) * len(rates), len(probed)
    measured_s, probed_s = _shared_out(60 * minutes, starts, aside_s, turns, _LEAST_TURNS[ours])
    common: dict[str, Any] = {
        "workloads": [workload], "repeats": starts, "segment_s": LEAST_SEGMENT_S, "lead_in_s": _LEAD_IN_S,
        "find_capacity": False, "rising": True, "bound_ms": bound_ms, "own_shares": [],
    }  # fmt: skip
    sections = [OpenSection(
        settings=settings, rates_per_s=rates, measured_s=measured_s, until_known=by,
        briefly=[name for name in settings if name not in able], **common,
    )]  # fmt: skip
    if probed:
        how = {"settings": probed, "measured_s": probed_s, "probe_after_ms": after_ms} | common
        sections.append(_beside(rate_per_s, traces, **how))
    warm_up = profile.warm_up.model_copy(update={"cap_s": warm_up_s})
    return _measuring(profile, sections, keep_samples="segments" if ours else "all", warm_up=warm_up)


def _check_sent(rate_per_s: float, most_times: float, after_ms: float | None) -> None:
    """Refuse (InputError) a rate that no client sends so many times of, and an age that no turn lasts."""
    if rate_per_s * most_times > MOST_PER_S:
        raise InputError(
            f"--rate: {rate_per_s:g} is too high, for up to {most_times:g} times the rate are sent; give "
            f"{MOST_PER_S / most_times:.0f} or less"
        )
    if after_ms is not None and after_ms >= 1e3 * LEAST_SEGMENT_S:
        raise InputError(
            f"--after-ms: {after_ms:g} is too long: what is written in a turn of {LEAST_SEGMENT_S:g} s is read in it, "
            f"under its load; give less than {1e3 * LEAST_SEGMENT_S:g}"
        )


def _measuring(profile: Profile, sections: list[OpenSection], **more: Any) -> Profile:
    """Return a profile that measures these sections and nothing else of it."""
    own = profile.workloads
    return profile.model_copy(update=more | {
        "name": f"decide-{profile.name}"[:60], "open": sections,
        "pure": None, "mixed": None, "cold": None, "paced": None, "faults": None,
        "workloads": own and own.model_copy(update={"threads": []}),
    })  # fmt: skip


def _in_one_place(profile: Profile, data_centres: int) -> Profile:
    """Return a profile with so many data centres; refuse (InputError) one of several deployments.

    In a deployment of several a driver's token-aware policy asks the nodes of its own, as `nearest_dc` does.
    """
    if profile.distance is not None and len(profile.distance.deployments) > 1:
        named = ", ".join(profile.distance.deployments)
        raise InputError(f"distance.deployments: a decision is for one deployment of {named}; leave the others out")
    cluster = profile.cluster.model_copy(update={"data_centres": data_centres})
    load = profile.load
    if load.coordinator == "token_aware" and profile.distance and len(profile.replicas.by_centre) > 1:
        load = load.model_copy(update={"coordinator": "nearest_dc"})
    return profile.model_copy(update={"cluster": cluster, "load": load})


def _beside(rate_per_s: float, traces: bool, **how: Any) -> OpenSection:
    """Return the section of the probe of staleness, whose requests are a part of the rate."""
    beside = OpenSection(
        rates_per_s=[rate_per_s], probe_traces=_TRACED if traces else 0, until_known=BROKEN,
        probes_per_s=min(_MOST_PROBES_PER_S, _STALE_RATE * rate_per_s / 2), **how,  # each is a write and a read
    )  # fmt: skip
    left_per_s = round(rate_per_s - beside.probing_per_s, 1)
    if not left_per_s > 0:
        raise InputError(f"--rate: {rate_per_s:g} leaves nothing beside traced requests; leave --traces out")
    return beside.model_copy(update={"rates_per_s": [left_per_s]})


def trouble_for(
    profile: Profile, *, workload: str, rate_per_s: float, settings: Sequence[str], engine: str, by_hand: bool = False
) -> Profile:
    """Return the profile that strikes a replica under each setting once.

    On a cluster of our own it is killed, and hangs; on another (`by_hand`) a person stops it.
    """
    strikes: list[Trouble] = [BY_HAND] if by_hand else ["kill", "pause"]
    common: dict[str, Any] = {
        "workloads": [workload], "repeats": 1, "segment_s": LEAST_SEGMENT_S, "lead_in_s": _LEAD_IN_S,
        "find_capacity": False, "own_shares": [], "settings": list(settings), "rates_per_s": [rate_per_s],
        "measured_s": _UNDER_TROUBLE_S,
    }  # fmt: skip
    sections = [OpenSection(trouble=trouble, **common) for trouble in ("", *strikes)]
    return _measuring(profile, sections, engine=engine, keep_samples="first_block")


def _shared_out(whole_s: float, starts: int, aside_s: float, turns: tuple[int, int], least: int) -> tuple[float, float]:
    """Return how long each setting is measured at each rate, and probed, in one cluster start.

    `turns`: how many settings take turns at all rates, and are probed. InputError if there is no time for the `least`.
    """
    measured, probed = turns
    share, of_turn_s = _STALE_TIME if probed else 0.0, LEAST_SEGMENT_S + _LEAD_IN_S
    parts = [(1 - share, measured), *([(share, probed)] if probed else [])]
    counts = [math.floor((whole_s / starts - aside_s) * part / (number * of_turn_s)) for part, number in parts]
    if min(counts) < least:
        needed_s = starts * (aside_s + max(least * of_turn_s * number / part for part, number in parts))
        raise InputError(
            f"--minutes: too short for {least} turns of each setting; give {math.ceil(needed_s / 60)} or more"
        )
    return counts[0] * LEAST_SEGMENT_S, counts[-1] * LEAST_SEGMENT_S


def workload_of(profile: Profile, name: str | None, reads: bool = False) -> str:
    """Return the service's own workload: the one that is named, or the only one.

    Raises InputError where there is none, or several, or where it has to have `reads` and reads nothing.
    """
    own = {section.name: section for section in profile.workloads.own} if profile.workloads else {}
    found = next(iter(own)) if name is None and len(own) == 1 else name
    if found is None or found not in own:
        there = f"it has {', '.join(own)}" if own else "it has none"
        raise InputError(f"--workload: name one of the profile's own workloads (workloads.own); {there}")
    if reads and not read_share(own_shares(own[found])):
        raise InputError(f"--stale: workload {found} reads nothing, so nothing of it is stale; leave --stale out")
    return found
