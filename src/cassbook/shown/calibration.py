"""What a calibration cannot support of a question, in words."""

from __future__ import annotations

from cassbook.records.calibration import Outside


def beyond(outside: Outside) -> str:
    """Say what is asked and what was measured.

    >>> beyond(Outside("nodes", 8, 4, 6)), beyond(Outside("cores", 4, 2, 2))
    ('nodes: 8; measured were 4 to 6', 'cores: 4; measured were 2')
    """
    if outside.name == "disk_ms":
        return asked(outside)
    least, most = f"{outside.least:g}", f"{outside.most:g}"
    return f"{asked(outside)}; measured were {least if least == most else f'{least} to {most}'}"


def asked(outside: Outside) -> str:
    """Say what is asked alone.

    >>> asked(Outside("nodes", 8, 4, 6)), asked(Outside("disk_ms", 2.0, 0, 0))
    ('nodes: 8', 'disk: what was measured was in memory')
    """
    if outside.name == "disk_ms":
        return "disk: what was measured was in memory"
    return f"{outside.name}: {outside.asked:g}"
