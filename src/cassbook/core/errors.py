"""The kinds of failure a person can meet, and the warning that results carry."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassbook_advisor.errors import InputError, LaboratoryError
else:  # where both packages are installed their errors are the same, so that whoever catches one catches the other
    try:
        from cassbook_advisor.errors import InputError, LaboratoryError
    except ModuleNotFoundError:

        class InputError(ValueError):
            """What was asked cannot be done as asked; the message says what was wrong and what would be right.

            The command line answers with exit code 2, before any cluster is started.
            """

        class LaboratoryError(RuntimeError):
            """What was asked is sound, but the machine, the network or a node did not play along (exit code 1)."""


class LackingError(InputError):
    """The data hold nothing of what was asked; the message, a clause, says what they lack and what would be enough.

    A page of the book shows it as a sentence in the place of what would have been there.
    """


class ChecksumError(LaboratoryError):
    """A file is not the one that was pinned."""


class CassbookWarning(UserWarning):
    """A result that stands, but on less ground than its reader would assume."""
