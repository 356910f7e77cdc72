"""The process that keeps rules of `tc` on the loopback device, and takes them away when its owner is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from cassbook.lab.wan.child import Control
from cassbook.lab.wan.netem import DEVICE, Command

#: What a loopback device has when nobody has set anything.
_BARE = "noqueue"


class RefusedError(Exception):
    """The kernel, or its owner, will not have it."""


def _tc(arguments: Command) -> str:
    try:
        done = subprocess.run(["tc", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RefusedError("there is no `tc` (package iproute2)") from None
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise RefusedError(f"`tc {' '.join(arguments)}`: {said or f'exit status {done.returncode}'}")
    return done.stdout


def _bare() -> None:
    """See that nobody else has rules on the device.

    Raises
    ------
    RefusedError
        Naming them.
    """
    kinds = [entry["kind"] for entry in json.loads(_tc(["-j", "qdisc", "show", "dev", DEVICE]) or "[]")]
    others = [kind for kind in kinds if kind != _BARE]
    if others:
        raise RefusedError(f"{DEVICE} has other rules ({', '.join(others)}); take them away first")


def _run(commands: list[Command]) -> dict[str, Any]:
    for command in commands:
        _tc(command)
    return {}


def main() -> int:
    """Serve the process that started this one."""
    control = Control()
    config = control.first()
    if config is None:
        return 0
    ours = False
    try:
        _bare()
        ours = True
        control.answer(_run(config["commands"]))
        while (lines := control.lines()) is not None:
            for line in lines:
                control.answer(_run(line["commands"]))
    except RefusedError as error:
        control.answer({"error": str(error)})
        return 1
    finally:
        if ours:
            subprocess.run(["tc", "qdisc", "del", "dev", DEVICE, "root"], capture_output=True, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
