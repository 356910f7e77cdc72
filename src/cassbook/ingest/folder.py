"""Open what can be analysed as a run: a recorded run, or a folder of logs; and what has results to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cassbook.core.errors import InputError
from cassbook.core.paths import LOGS_INDEX
from cassbook.records import sample_stream
from cassbook.records.run import RecordedRun

if TYPE_CHECKING:
    from cassbook.ingest.common import Options


def open_run(name_or_path: str | Path, options: Options | None = None) -> RecordedRun:
    """Open a recorded run, by name or path, or a folder of logs or one log, by path; `options` say how logs are read.

    Raise InputError if it is neither, or cannot be read.
    """
    folder = Path(name_or_path)
    described = (folder / LOGS_INDEX).is_file()
    if described or folder.is_file() or (folder.is_dir() and not (folder / "manifest.json").is_file()):
        from cassbook.ingest.log_folder import LogFolder  # noqa: PLC0415 - most runs are no logs

        return LogFolder(folder, options)
    return RecordedRun(name_or_path)


def open_results(name_or_path: str | Path, options: Options | None = None) -> RecordedRun | sample_stream.SampleFile:
    """Open what `open_run` does, or samples that `cassbook read` wrote as Parquet, which are streamed.

    Raise InputError if it is none of these, or cannot be read.
    """
    path = Path(name_or_path)
    return sample_stream.SampleFile(path) if sample_stream.holds_samples(path) else open_run(name_or_path, options)


def open_all(names: Sequence[str], options: Options) -> list[RecordedRun | sample_stream.SampleFile]:
    """Open several of what `open_results` opens; options are for the logs among them.

    Raise InputError as `open_results`, and if options of logs are given and none of them is a log.
    """
    opened = [open_results(name, options) for name in names]
    if options.given() and not any("profile" not in run.manifest and isinstance(run, RecordedRun) for run in opened):
        raise InputError(
            f"{', '.join(options.given())}: is for logs of other tools, and {', '.join(names)} is none; leave it out"
        )
    return opened
