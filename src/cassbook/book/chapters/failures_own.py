"""Records of schedules of one's own in the chapter on failures: they are shown whatever their schedules are called."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from IPython.display import Markdown, display

from cassbook.book.chapters import failures_figures
from cassbook.core.errors import InputError
from cassbook.records import faults
from cassbook.records.fault_summary import summary
from cassbook.records.faults import FaultRun
from cassbook.shown import faults as shown_faults

#: What a record of `cassbook experiment faults --profile` calls its experiment.
_OWN = "faults"


def show(own: str, pair: Mapping[str, FaultRun]) -> None:
    """Display records of schedules of one's own: a figure of each schedule, and a table of each fault.

    Parameters
    ----------
    own : str
        Name or path of a further record; '' for none.
    pair : mapping of str to FaultRun
        The records of the chapter. Which schedules one of them lacks that others have is said.
    """
    for sentence in lacking(pair):
        display(Markdown(sentence))
    shown = [*([_opened(own)] if own else []), *(run for run in pair.values() if _is_own(run))]
    for run in shown:
        for setup in run.setups:
            display(Markdown(f"**{run.results.name}, Cassandra {run.engine}.** {shown_faults.title_of(run, setup)}."))
            display(failures_figures.answered([run], setup))
            for fault, who, table in of_schedule(run, setup):
                display(Markdown(f"*{fault}*: {who}."))
                display(table)
            display(Markdown(" ".join(shown_faults.kept(run, [setup]))))
        display(Markdown(" ".join(shown_faults.notes(run))))


def _is_own(run: FaultRun) -> bool:
    return bool(run.results.manifest["experiment"] == _OWN)


def of_schedule(run: FaultRun, setup: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Return each fault of a schedule, who noticed it, and what each setting made of it: index setting."""
    found = shown_faults.sections(summary(run, [setup]))
    return [(fault, who, table.set_index("setting")) for _, fault, who, table in found]


def lacking(pair: Mapping[str, FaultRun]) -> list[str]:
    """Say of each record which schedules it lacks that the others have, but for those of one's own."""
    said = []
    for name, run in pair.items():
        others = [setup for other in pair.values() if not _is_own(other) for setup in other.setups]
        missing = [setup for setup in dict.fromkeys(others) if setup not in run.setups]
        if missing:
            said.append(
                f"`{name}` is {run.results.name} (Cassandra {run.engine}), which lacks {len(missing)} of the schedules "
                f"below ({', '.join(missing)}): there the other version stands alone."
            )
    return said


def _opened(own: str) -> FaultRun:
    run = faults.opened(own)
    if run is None:
        raise InputError(f"own: {own} is no record of faults; `cassbook experiment faults --profile PROFILE` makes one")
    return run
