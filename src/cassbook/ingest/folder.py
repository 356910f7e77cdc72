"""Open what can be analysed as a run: a recorded run, or a folder of logs; and what has results to be shown."""

from __future__ import annotations

from pathlib import Path

from cassbook.core.paths import LOGS_INDEX
from cassbook.records import sample_stream
from cassbook.records.run import RecordedRun


def open_run(name_or_path: str | Path) -> RecordedRun:
    """Open a recorded run, by name or path, or a folder of logs or one log, by path.

    Raises
    ------
    InputError
        If it is neither, or cannot be read.
    """
    folder = Path(name_or_path)
    described = (folder / LOGS_INDEX).is_file()
    if described or folder.is_file() or (folder.is_dir() and not (folder / "manifest.json").is_file()):
        from cassbook.ingest.log_folder import LogFolder  # noqa: PLC0415 - most runs are no logs

        return LogFolder(folder)
    return RecordedRun(name_or_path)


def open_results(name_or_path: str | Path) -> RecordedRun | sample_stream.SampleFile:
    """Open what `open_run` does, or samples that `cassbook read` wrote as Parquet, which are streamed.

    Raises
    ------
    InputError
        If it is none of these, or cannot be read.
    """
    path = Path(name_or_path)
    return sample_stream.SampleFile(path) if sample_stream.holds_samples(path) else open_run(name_or_path)
