"""Lines that are not what their format says: counted, quoted, and never passed over in silence."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cassbook.core.errors import InputError

_QUOTED = 80
#: Damaged lines of a file that a report names; the rest are counted.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged line: its number, from 1, and its bytes."""

    line: int
    text: bytes

    def __str__(self) -> str:
        shown = self.text[:_QUOTED].decode("utf-8", "backslashreplace")
        return f"line {self.line}: {shown!r}{' ...' if len(self.text) > _QUOTED else ''}"


@dataclass(slots=True)
class Tally:
    """The damaged lines of one file.

    Parameters
    ----------
    path : Path
    skip : bool
        Count them; otherwise the first is an error.
    expected : str
        What a line of this format looks like, for the message.
    """

    path: Path
    skip: bool
    expected: str
    count: int = 0
    named: list[Damage] = field(default_factory=list)

    def add(self, damage: Damage) -> None:
        """Take a damaged line.

        Raises
        ------
        InputError
            With file and line, unless damaged lines are skipped.
        """
        if not self.skip:
            raise InputError(
                f"{self.path}, {damage}: is damaged (expected {self.expected}); nothing was written. "
                "--skip-damaged leaves such lines out and counts them"
            )
        self.count += 1
        if len(self.named) < _NAMED:
            self.named.append(damage)

    def add_all(self, other: Tally, lines_before: int) -> None:
        """Take what another tally found in a later part of the same file.

        Raises
        ------
        InputError
            At the first damaged line, unless they are skipped.
        """
        for damage in other.named:
            self.add(Damage(lines_before + damage.line, damage.text))
        self.count += other.count - len(other.named)

    def lines(self) -> list[str]:
        """What a report says of them."""
        if not self.count:
            return []
        more = [f"  ... and {self.count - len(self.named)} more"] if self.count > len(self.named) else []
        return [f"{self.count} damaged lines left out:", *(f"  {damage}" for damage in self.named), *more]
