"""Results of the thesis (section 4.3): throughputs, settings and mixes, put to one another.

Its tables of measurements are pictures and lost; what can be checked is what the sentences print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

from cassbook import published
from cassbook.claims.interval import Interval, high, low, middle, possibly_at_most
from cassbook.claims.quorum_pairs import REPLICATION_FACTOR, chance_to_meet, compared_settings, strong_pairs
from cassbook.claims.registry import claim
from cassbook.claims.statement import Answer, Count, in_words
from cassbook.claims.thesis.text import READ_RATES, rates
from cassbook.claims.typos import repairs
from cassbook.core.consistency import LEVELS, setting_waiting_for

#: Section 4.3.2: read and write percent of each mix.
MIXES = ((10, 90), (30, 70), (50, 50), (70, 30), (90, 10))


# Section 4.3.1: each operation alone


@claim(
    "thesis-all-lowest",
    "section 4.3.1",
    "the throughput for ALL consistency settings is the lowest for both read and write",
    "lowest for both read and write",
)
def lowest_at_all() -> Count:
    """Operations whose printed throughput is lowest at ALL."""
    of = [rates(operation) for operation in ("READ", "WRITE")]
    lowest = [all(possibly_at_most(by_level["ALL"], by_level[level]) for level in LEVELS) for by_level in of]
    return Count(sum(lowest), len(of))


def falling_steps(values: Mapping[str, Interval]) -> Count:
    """Steps ONE, QUORUM, ALL at which a throughput does not rise."""
    steps = list(pairwise(values[level] for level in LEVELS))
    return Count(sum(possibly_at_most(stronger, weaker) for weaker, stronger in steps), len(steps))


@claim(
    "thesis-forensic-write-order",
    "section 4.3.1",
    "it is 1437 for ONE consistency level and it fluctuates around 1400 and 1250 for QUORUM and ALL",
    "1437 ... 1400 ... 1250",
    kind="forensic",
    asked="1437, 1400, 1250",
)
def writes_fall() -> Count:
    """Steps ONE, QUORUM, ALL at which the printed throughput of writes does not rise."""
    return falling_steps(rates("WRITE"))


def _in_order(one: str, quorum: str, everyone: str) -> bool:
    return int(one) >= int(quorum) >= int(everyone)


def order_repairs() -> dict[str, list[str]]:
    """Each printed read rate to the numbers one keystroke away that put ONE, QUORUM and ALL in falling order."""
    one, quorum, everyone = READ_RATES.values()
    tests: dict[str, Callable[[str], bool]] = {
        one: lambda repaired: _in_order(repaired, quorum, everyone),
        quorum: lambda repaired: _in_order(one, repaired, everyone),
        everyone: lambda repaired: _in_order(one, quorum, repaired),
    }
    return {printed: repairs(printed, good) for printed, good in tests.items()}


@claim(
    "thesis-forensic-read-order",
    "section 4.3.1",
    "a maximum throughput of 1203 requests per second ... It varies between 1240 and 110 requests per second for the "
    "QUORUM and ALL",
    "1203 ... 1240 ... 110",
    kind="forensic",
    asked="1203, 1240, 110",
)
def reads_fall() -> Answer:
    """Steps ONE, QUORUM, ALL at which the printed throughput of reads does not rise, and what one keystroke repairs."""
    counts = ", ".join(f"{len(mends)} of {printed}" for printed, mends in order_repairs().items())
    share = {op: rates(op)["ALL"] / rates(op)["ONE"] * 100 for op in ("READ", "WRITE")}
    return Answer(
        falling_steps(rates("READ")),
        note=f"Numbers one keystroke away that restore the order: {counts}. ALL then still keeps at most "
        f"{high(share['READ']):.0f}% of ONE, for writes {middle(share['WRITE']):.0f}%, so that one keystroke cannot "
        "mend both.",
    )


def comparable_repairs() -> list[str]:
    """Numbers one keystroke away from ALL's 110 that keep at least the share of ONE that writes keep, at most all."""
    share = rates("WRITE")["ALL"] / rates("WRITE")["ONE"]
    least = low(rates("READ")["ONE"] * share)
    return repairs(READ_RATES["ALL"], lambda text: least <= int(text) <= int(READ_RATES["ONE"]))


@claim(
    "thesis-forensic-read-all",
    "section 4.3.1",
    "It varies between 1240 and 110 requests per second for the QUORUM and ALL",
    "110",
    kind="forensic",
)
def reads_at_all_like_writes() -> Answer:
    """Read throughput at ALL if reads kept the share of ONE that writes keep."""
    near = comparable_repairs()
    return Answer(
        rates("READ")["ONE"] / (rates("WRITE")["ONE"] / rates("WRITE")["ALL"]),
        note=f"Of the numbers one keystroke away, {len(near)} lie between that and ONE, from {near[0]} to "
        f"{near[-1]}: a digit lost in print would explain it. So would a range over thread counts, from 110 to 1240, "
        "but then 1240 still exceeds the maximum at ONE.",
    )


# Section 4.3.2: mixes


@claim(
    "thesis-six-settings",
    "section 4.3.2",
    "there are six different read/write consistency settings that can be used to provide high data consistency",
    "six",
)
def strong_settings() -> Answer:
    """Pairs of replicas read and written, 1 to 3 each, whose sum exceeds 3."""
    settings = [setting_waiting_for(*couple) for couple in strong_pairs()]
    return Answer(in_words(len(settings)), note=f"{', '.join(settings)}: those that the thesis lists.")


@claim("thesis-66-1r3w", "section 4.3.2", "the two settings: 1R-3W and 2R-1W provide the 66.6% of consistency", "66.6%")
def chance_1r3w() -> Answer:
    """Chance that one replica read is among three written, and among two."""
    return Answer(
        chance_to_meet((1, 3), REPLICATION_FACTOR) * 100,
        {"a slip for 1R-2W": chance_to_meet((1, 2), REPLICATION_FACTOR) * 100},
        "1R-3W stands among the six strong settings of the same page; the 2020 paper, whose sentence this is, has "
        "1R-2W.",
        "misprint",
    )


@claim("thesis-66-2r1w", "section 4.3.2", "the two settings: 1R-3W and 2R-1W provide the 66.6% of consistency", "66.6%")
def chance_2r1w() -> Answer:
    """Chance that two replicas read include the one written."""
    chance = chance_to_meet((2, 1), REPLICATION_FACTOR) * 100
    return Answer(chance, note="Before the write has spread to further replicas.")


@claim("thesis-33-1r1w", "section 4.3.2, of 1R-1W", "setting can guarantee only the 33.3% of consistency", "33.3%")
def chance_1r1w() -> Interval:
    """Chance that one replica read is the one written."""
    return chance_to_meet((1, 1), REPLICATION_FACTOR) * 100


@claim("thesis-three-settings", "section 4.3.2", "All the three combinations follow the rule", "All the three")
def settings_of_experiment() -> Answer:
    """Settings of the experiment with R + W > 3."""
    return Answer(compared_settings(), note="The formula below the sentence is lost; section 2.3.1 prints it as R+W>N.")


@claim(
    "thesis-five-mixes",
    "section 4.3.2",
    "5 different read/write load proportions are taken into consideration: Read/Write-10/90%, Read/Write-30/70%, "
    "Read/Write-50/50%, Read/Write-70/30%, and Read/Write-90/10%",
    "5",
)
def mixes() -> Answer:
    """Proportions that are listed and add up to 100 %."""
    in_2020 = {round(share * 100) for share in published.table("g20_table4")["read_share"]}
    added = ", ".join(f"{read}/{write}" for read, write in MIXES if read not in in_2020)
    return Answer(sum(sum(mix) == 100 for mix in MIXES), note=f"Not among the mixes of the 2020 paper: {added}.")  # noqa: PLR2004


@claim(
    "thesis-lowest-consistency",
    "section 4.3.2",
    "the 2R-2W setting shows the lowest consistency for a greater number of threads",
    "lowest consistency",
)
def lowest_consistency() -> Answer:
    """The two settings said to be lowest that guarantee less than another of the three compared."""
    chance = {s: low(chance_to_meet(s, REPLICATION_FACTOR)) for s in ((1, 3), (2, 2), (3, 1))}
    below = sum(chance[s] < max(chance.values()) for s in ((1, 3), (2, 2)))
    return Answer(
        Count(below, 2),
        note="All three are strong, so none is lower. 'Latency' is meant, as the tables' introduction says: 'the "
        "lowest latencies is highlighted'.",
        finding="misprint",
    )


def threads_of_2020() -> list[int]:
    """Thread counts of the 2020 paper, whose plan the thesis follows; its own are lost with its tables."""
    return sorted({int(n) for n in published.table("g20_table1")["threads"]})


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence of section 4.3.2: at these read percentages and thread counts this setting is best."""

    reads: tuple[int, ...]
    threads: Callable[[int], bool]
    best: str


#: In their order; 'a greater number of threads' is taken as the greatest only, so that no reading makes it less.
BEST_SETTINGS = (
    Rule((10,), lambda n: n <= 300, "1R-3W"),  # noqa: PLR2004 - 'up to 300 when the read load proportion is less than 30%'
    Rule((10,), lambda n: n > 300, "3R-1W"),  # noqa: PLR2004 - 'For threads more than 300'
    Rule((30, 50, 70, 90), lambda n: True, "1R-3W"),  # 'When the read load proportion increases ... regardless'
    Rule((90,), lambda n: n == threads_of_2020()[-1], "2R-2W"),  # 'of 90/10% ... for a greater number of threads'
    Rule((10,), lambda n: n == threads_of_2020()[-1], "3R-1W"),  # 'around 10% ... high write-heavy workloads'
)


def agreeing_cells(rules: tuple[Rule, ...]) -> Count:
    """Mixes and thread counts at which the sentences name one best setting; thread counts are the 2020 paper's."""
    plan = list(product((read for read, _ in MIXES), threads_of_2020()))
    named = [{rule.best for rule in rules if read in rule.reads and rule.threads(n)} for read, n in plan]
    return Count(sum(len(settings) == 1 for settings in named), len(plan))


@claim(
    "thesis-forensic-best",
    "section 4.3.2",
    "regardless of the current workload, the 1R-3W option delivers the best latency readings",
    "regardless of the current workload",
    kind="forensic",
)
def sentences_agree() -> Answer:
    """Cells of the plan at which the five sentences on the best setting agree, with and without the one on 90/10%."""
    without = tuple(rule for rule in BEST_SETTINGS if rule.best != "2R-2W")
    return Answer(
        agreeing_cells(BEST_SETTINGS),
        {"except at 90/10% with many threads, as the next sentence has it": agreeing_cells(without)},
        "At 90/10% two sentences name 1R-3W and 2R-2W, and a third calls 2R-2W wasteful as reads increase.",
    )
