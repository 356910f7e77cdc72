"""The process that keeps rules of `tc` on the loopback device, and takes them away when its owner is gone."""

from __future__ import annotations

import json
import subprocess

from cassbook.core.errors import LaboratoryError
from cassbook.lab.wan.child import Owner

Command = list[str]
DEVICE = "lo"
#: What a loopback device has when nobody has set anything.
_BARE = "noqueue"


def _tc(arguments: Command) -> str:
    try:
        done = subprocess.run(["tc", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LaboratoryError("there is no `tc` (package iproute2)") from None
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise LaboratoryError(f"`tc {' '.join(arguments)}`: {said or f'exit status {done.returncode}'}")
    return done.stdout


def _bare() -> None:
    """See that nobody else has rules on the device.

    Raises
    ------
    LaboratoryError
        Naming them.
    """
    kinds = [entry["kind"] for entry in json.loads(_tc(["-j", "qdisc", "show", "dev", DEVICE]) or "[]")]
    others = [kind for kind in kinds if kind != _BARE]
    if others:
        raise LaboratoryError(f"{DEVICE} has other rules ({', '.join(others)}); remove them first")


def serve(owner: Owner, commands: list[Command]) -> None:
    """Put rules into force, then others in their place, until the owner is gone; and take them away."""
    _bare()
    try:
        while True:
            for command in commands:
                _tc(command)
            owner.tell(None)
            commands = owner.hear()
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", DEVICE, "root"], capture_output=True, check=False)
