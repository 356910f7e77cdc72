"""Distance by the kernel: `tc` and netem on the loopback device, where the kernel has it and we may use it.

Hosts are identified by their addresses, clients by the port that they call. A process of its own keeps the
rules and removes them when its owner is gone.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Mapping

from cassbook.core.errors import LaboratoryError
from cassbook.deployment.link import Link
from cassbook.lab.wan.child import Child, Owner
from cassbook.lab.wan.relay import Delayer, Links, Moved

Command = list[str]
DEVICE = "lo"
#: What a loopback device has when nobody has set anything.
_BARE = "noqueue"
#: Where the echo calls from for the client.
CLIENT_ADDRESS = "127.0.0.254"
#: Packets that may be under way in one direction: a window of TCP at 200 ms and a few Gbit/s.
_LIMIT = 100_000
_FASTEST = "100gbit"


class Netem(Delayer):
    """As `Relay`, for hosts that call each other directly.

    Nodes have `addresses` by their names; the client has none of its own, and only clients call `port` of a node.
    `start` raises a LaboratoryError with what `tc` said: no netem in the kernel, no permission, or other rules on the
    device.
    """

    def __init__(self, links: Links, addresses: Mapping[str, str], client: str, port: int) -> None:
        super().__init__(Child("netem", serve, setting_up(links, addresses, client, port)))

    def set_links(self, links: Links) -> None:
        """Put other links of the same hosts into force."""
        self._child.ask(changing(links))

    def report(self) -> Moved:
        """Give the seconds since the last report; the kernel counts no chunks."""
        return Moved(self._ask([])[0], {}, {}, (), 0.0, 0)


def setting_up(links: Links, addresses: Mapping[str, str], client: str, port: int) -> list[Command]:
    """Arguments of `tc` that put links into force on a device without rules: a class, a netem and filters each."""
    commands = [
        _of("qdisc", f"root handle 1: htb default {1:x}"),
        _of("class", f"parent 1: classid 1:{1:x} htb rate {_FASTEST}"),
    ]
    for number, (pair, link) in enumerate(links.items(), start=2):
        commands.append(_of("class", f"parent 1: classid 1:{number:x} htb rate {_FASTEST}"))
        commands.append(_of("qdisc", f"parent 1:{number:x} handle {number:x}: netem {_netem(link)}"))
        commands += [
            _of("filter", f"parent 1: protocol ip prio {prio} u32 {match} flowid 1:{number:x}")
            for prio, match in _matches(pair, addresses, client, port)
        ]
    return commands


def changing(links: Links) -> list[Command]:
    """Arguments of `tc` that put other links into force, in the order of those before."""
    return [
        ["qdisc", "change", "dev", DEVICE, *f"parent 1:{number:x} handle {number:x}: netem {_netem(link)}".split()]
        for number, link in enumerate(links.values(), start=2)
    ]


def _of(what: str, words: str) -> Command:
    return [what, "add", "dev", DEVICE, *words.split()]


def _netem(link: Link) -> str:
    words = f"delay {link.delay_ms:.3f}ms"
    if link.jitter_ms:
        words += f" {link.jitter_ms:.3f}ms"
    if not math.isinf(link.mbit_per_s):
        words += f" rate {link.mbit_per_s * 1000:.0f}kbit"
    if link.cut:
        words += " loss 100%"
    return f"{words} limit {_LIMIT}"


def _matches(pair: tuple[str, str], addresses: Mapping[str, str], client: str, port: int) -> list[tuple[int, str]]:
    """Return the filters that match packets of a pair: clients first, which may share a node's address."""
    sender, receiver = pair
    if sender == client:
        to = f"match ip dst {addresses[receiver]}/32"
        return [(1, f"{to} match ip dport {port} 0xffff"), (1, f"match ip src {CLIENT_ADDRESS}/32 {to}")]
    sent = f"match ip src {addresses[sender]}/32"
    if receiver == client:
        return [(1, f"{sent} match ip sport {port} 0xffff"), (1, f"{sent} match ip dst {CLIENT_ADDRESS}/32")]
    return [(2, f"{sent} match ip dst {addresses[receiver]}/32")]


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
    """Refuse a device on which somebody else has rules, naming them."""
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
