"""What an adviser does, as metrics of Prometheus, where `prometheus_client` is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cassbook_advisor.status import Event, Status

#: Names and help texts of what is counted or shown.
NAMES = {
    "cassbook_adviser_events": "Steps of the adviser, by kind.",
    "cassbook_adviser_setting": "1 for the setting in force, 0 for others that were.",
    "cassbook_adviser_replicas_alive": "Live replicas of the worst row.",
    "cassbook_adviser_cannot_serve": "1 while reads or writes cannot be served.",
    "cassbook_adviser_requests_per_second": "Requests that were answered, in the adviser's window.",
    "cassbook_adviser_failing_share": "Part of them whose answer was an error.",
    "cassbook_adviser_leased": "1 while the lease is held; without it requests go at ALL.",
}


class Metrics:
    """Collects events and, when it is scraped, the adviser's state.

    Hand `on_event` to the adviser, and the adviser's `status` to `watch`::

        metrics = Metrics()
        adviser = Adviser(..., on_event=metrics.on_event)
        metrics.watch(adviser.status)

    `registry`: of prometheus_client; by default its own global one.

    Raises ModuleNotFoundError where prometheus_client is not installed: then give the adviser a callback of your own.
    """

    def __init__(self, registry: Any = None) -> None:
        try:
            import prometheus_client  # noqa: PLC0415 - optional
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "Metrics needs prometheus_client, which is not installed: pip install prometheus_client, or give the "
                "adviser a callback of your own as on_event", name="prometheus_client",
            ) from None  # fmt: skip
        kwargs = {} if registry is None else {"registry": registry}
        self._events = prometheus_client.Counter(
            "cassbook_adviser_events", NAMES["cassbook_adviser_events"], ["kind"], **kwargs
        )
        labels = {"cassbook_adviser_setting": ["setting"], "cassbook_adviser_cannot_serve": ["operation"]}
        self._gauges = {
            name: prometheus_client.Gauge(name, text, labels.get(name, ()), **kwargs)
            for name, text in NAMES.items() if name != "cassbook_adviser_events"
        }  # fmt: skip
        self._settings: set[str] = set()

    def on_event(self, event: Event) -> None:
        """Count a step of the adviser's."""
        self._events.labels(event.kind).inc()
        self._show_setting(event.setting)

    def watch(self, status: Callable[[], Status]) -> None:
        """Ask for the adviser's state whenever metrics are collected."""
        plain = {
            "cassbook_adviser_replicas_alive": lambda: float(status().alive),
            "cassbook_adviser_requests_per_second": lambda: status().load.per_s,
            "cassbook_adviser_failing_share": lambda: status().failing_share,
            "cassbook_adviser_leased": lambda: float(status().leased),
        }
        for name, value in plain.items():
            self._gauges[name].set_function(value)
        for operation in ("reads", "writes"):
            shown = self._gauges["cassbook_adviser_cannot_serve"].labels(operation)
            shown.set_function(partial(_cannot_serve, status, operation))
        self._show_setting(status().setting)

    def _show_setting(self, name: str) -> None:
        self._settings.add(name)
        for known in self._settings:
            self._gauges["cassbook_adviser_setting"].labels(known).set(float(known == name))


def _cannot_serve(status: Callable[[], Status], operation: str) -> float:
    return float(any(one.operation == operation for one in status().cannot_serve))
