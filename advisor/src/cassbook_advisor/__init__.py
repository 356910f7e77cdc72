"""Choose the consistency levels of a service's reads and writes while it runs; needs the driver and nothing else."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassbook_advisor.adviser import Adviser, Change, Pace
    from cassbook_advisor.cassandra_register import InCassandra
    from cassbook_advisor.errors import InputError, LaboratoryError
    from cassbook_advisor.gates import CannotServe, Unserved
    from cassbook_advisor.latencies import Latencies, Limit, Measured
    from cassbook_advisor.levels import Setting
    from cassbook_advisor.metrics import Metrics
    from cassbook_advisor.policy import Decision, Policy, SweepCost, Terms
    from cassbook_advisor.regime import Regime
    from cassbook_advisor.register import InMemory
    from cassbook_advisor.requests import Advised, OutcomeUnknown
    from cassbook_advisor.status import Event, Status

__all__ = [
    "Advised",
    "Adviser",
    "CannotServe",
    "Change",
    "Decision",
    "Event",
    "InCassandra",
    "InMemory",
    "InputError",
    "LaboratoryError",
    "Latencies",
    "Limit",
    "Measured",
    "Metrics",
    "OutcomeUnknown",
    "Pace",
    "Policy",
    "Regime",
    "Setting",
    "Status",
    "SweepCost",
    "Terms",
    "Unserved",
]

_MODULES = {
    "Advised": "requests",
    "Adviser": "adviser",
    "CannotServe": "gates",
    "Change": "adviser",
    "Decision": "policy",
    "Event": "status",
    "InCassandra": "cassandra_register",
    "InMemory": "register",
    "InputError": "errors",
    "LaboratoryError": "errors",
    "Latencies": "latencies",
    "Limit": "latencies",
    "Measured": "latencies",
    "Metrics": "metrics",
    "OutcomeUnknown": "requests",
    "Pace": "adviser",
    "Policy": "policy",
    "Regime": "regime",
    "Setting": "levels",
    "Status": "status",
    "SweepCost": "policy",
    "Terms": "policy",
    "Unserved": "gates",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and with it the driver, when it is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
