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
    """The damaged lines of one file."""

    path: Path
    skip: bool  # count them; otherwise the first is an error
    expected: str  # what a line of this format looks like, for the message
    count: int = 0  # damaged lines
    named: list[Damage] = field(default_factory=list)  # the first of them
    cut: str = ""  # how much could be unpacked of a log whose compression is damaged; empty for any other
    texts: int = 0  # lines of known console text, which hold no measurement and were passed over

    def add(self, damage: Damage) -> None:
        """Take a damaged line; raise InputError with file and line, unless damaged lines are skipped."""
        if not self.skip:
            raise InputError(
                f"{self.path}, {damage}: is damaged (expected {self.expected}); "
                "`cassbook read --skip-damaged` leaves such lines out and counts them"
            )
        self.count += 1
        if len(self.named) < _NAMED:
            self.named.append(damage)

    def cut_short(self, unpacked: int, error: Exception) -> None:
        """Note that the compression is damaged, and all that follows is left out."""
        self.cut = (
            f"its compression is damaged or cut short ({error}): {unpacked:,} bytes could be unpacked, and what "
            "follows the last whole line of them is left out"
        )

    def add_all(self, other: Tally, lines_before: int) -> None:
        """Take what another tally found in a later part of the same file.

        Raise InputError at the first damaged line, unless they are skipped.
        """
        if other.cut and not self.skip:
            raise InputError(f"{self.path}: {other.cut}; `cassbook read --skip-damaged` reads what comes before")
        self.cut = self.cut or other.cut
        for damage in other.named:
            self.add(Damage(lines_before + damage.line, damage.text))
        self.count += other.count - len(other.named)
        self.texts += other.texts

    def lines(self) -> list[str]:
        """What a report says of them."""
        cut = [self.cut] if self.cut else []
        if self.texts:
            cut.append(f"{self.texts:,} lines of console text passed over")
        if not self.count:
            return cut
        more = [f"  ... and {self.count - len(self.named)} more"] if self.count > len(self.named) else []
        return [*cut, f"{self.count} damaged lines left out:", *(f"  {damage}" for damage in self.named), *more]

    def content(self) -> dict[str, object]:
        """Return the same for a program."""
        named = [{"line": one.line, "text": one.text.decode("utf-8", "backslashreplace")} for one in self.named]
        return {"damaged_lines": self.count, "damaged": named, "cut": self.cut or None, "text_lines": self.texts}
