"""The two kinds of failure that an adviser has of its own."""


class InputError(ValueError):
    """What was asked cannot be done as asked; the message says what was wrong and what would be right.

    Cassbook's command line answers with exit code 2, before any cluster is started.
    """


class LaboratoryError(RuntimeError):
    """What was asked is sound, but the machine, the network or a node did not play along (exit code 1)."""
