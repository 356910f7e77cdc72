"""Records of schedules of one's own in the chapter on failures: they are shown whatever their schedules are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from IPython.display import Markdown, display

from cassbook.book import fingerprint
from cassbook.book.chapters import failures_figures
from cassbook.core.errors import InputError
from cassbook.records import fault_tables, faults
from cassbook.records.fault_summary import summary
from cassbook.records.faults import FaultRun


def show(recorded: str, pair: Mapping[str, FaultRun]) -> None:
    """Display what is only in one of the records: a figure of each schedule, and a table of each fault.

    Parameters
    ----------
    recorded : str
        Name or path of a further record; '' for none. All its schedules are shown.
    pair : mapping of str to FaultRun
        The records of the chapter; those of their schedules are shown that no other of them has.
    """
    for sentence in lacking(pair):
        display(Markdown(sentence))
    for run, setup in _own(recorded, pair):
        display(Markdown(f"**{run.results.name}, Cassandra {run.engine}.** {fault_tables.title_of(run, setup)}."))
        display(failures_figures.answered([run], setup))
        for fault, who, table in of_schedule(run, setup):
            display(Markdown(f"*{fault}*: {who}."))
            display(table)
        display(Markdown(" ".join([*fault_tables.kept(run, [setup]), *fault_tables.notes(run)])))


def of_schedule(run: FaultRun, setup: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Return each fault of a schedule, who noticed it, and what each setting made of it: index setting."""
    found = fault_tables.sections(summary(run, [setup]))
    return [(fault, who, table.set_index("setting")) for _, fault, who, table in found]


def lacking(pair: Mapping[str, FaultRun]) -> list[str]:
    """Say of each record which schedules of the others it has not."""
    said = []
    for name, run in pair.items():
        others = [setup for other in pair.values() for setup in other.setups]
        missing = [setup for setup in dict.fromkeys(others) if setup not in run.setups]
        if missing:
            said.append(
                f"`{name}` is {run.results.name} (Cassandra {run.engine}), which lacks {len(missing)} of the schedules "
                f"below ({', '.join(missing)}): there the other version stands alone."
            )
    return said


def _own(recorded: str, pair: Mapping[str, FaultRun]) -> Iterator[tuple[FaultRun, str]]:
    """Yield records, and schedules of theirs that are to be shown here."""
    if recorded:
        run = _opened(recorded)
        yield from ((run, setup) for setup in run.setups)
    for run in pair.values():
        others = {setup for other in pair.values() if other is not run for setup in other.setups}
        yield from ((run, setup) for setup in run.setups if setup not in others)


def _opened(recorded: str) -> FaultRun:
    folder, _ = fingerprint.record(recorded)
    run = faults.opened(str(folder)) if folder is not None else None
    if run is None:
        raise InputError(
            f"recorded: {recorded} is no record of faults; `cassbook experiment faults --profile PROFILE` makes one"
        )
    return run
