"""An interval held against a limit: what passes, what fails, and when to stop looking.

All intervals of a screen together miss the truth with a chance of `ERROR` at most (Bonferroni), so that twenty verdicts
are as reliable as a single one. Who looks again and again while measuring may err at each look, and shares it by these
too.
"""

from __future__ import annotations

from cassbook.core.estimate import ERROR, Estimate

PASS, FAIL, UNKNOWN = "PASS", "FAIL", "UNKNOWN"
#: Within this factor of a limit a figure need not be decided.
ZONE = 1.25
#: A setting breaks down under so many failures, or with a figure over so many times its bound.
MOST_FAILED, MOST_BOUNDS = 0.01, 10.0
#: Rounds of segments before the first look; each further look comes after twice as many.
_FIRST_LOOK = 12
#: The tails of few segments are longer than they show: intervals over segments get so many times less of the error, by
#: which screens of recorded segments are wrong as rarely as they say.
_SKEWED = 2


def against(figure: Estimate, most: float) -> str:
    """Hold an interval against the most that a figure may be: PASS, FAIL, or UNKNOWN where the limit is inside.

    >>> [against(Estimate(3.0, 2.0, 4.0), most) for most in (4.0, 1.9, 3.0)]
    ['PASS', 'FAIL', 'UNKNOWN']
    """
    return FAIL if figure.low > most else PASS if figure.high <= most else UNKNOWN


def is_near(value: float, limit: float) -> bool:
    """Whether a figure is within `ZONE` of its limit."""
    return bool(limit / ZONE <= value <= limit * ZONE)


def is_settled(figure: Estimate, most: float) -> bool:
    """Whether more of the same would change nothing: a verdict, or a figure that is known to be within the zone.

    >>> is_settled(Estimate(3.0, 2.9, 3.1), 3.0), is_settled(Estimate(3.0, 2.0, 4.0), 3.0)
    (True, False)
    """
    within = most / ZONE < figure.low and figure.high <= most * ZONE
    return within or against(figure, most) != UNKNOWN


def looks(rounds: int) -> tuple[int, ...]:
    """After how many of so many rounds to look; the last look is at the end.

    >>> looks(60), looks(12), looks(2)
    ((12, 24, 48, 60), (12,), (2,))
    """
    at, found = _FIRST_LOOK, []
    while at < rounds:
        found.append(at)
        at *= 2
    return (*found, rounds)


def share_of_error(verdicts: int, looks: int = 0) -> float:
    """Return the chance that one of so many verdicts may be wrong; of segments at one of so many looks.

    >>> share_of_error(5), share_of_error(5, looks=2)
    (0.01, 0.0025)
    """
    return ERROR / (verdicts * (_SKEWED * looks or 1))
