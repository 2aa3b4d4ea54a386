"""The history of nodes, from PROMETHEUS_URL and PYROSCOPE_URL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.app.parts import now
from bot.domain.errors import SettingsError
from bot.domain.growth import CountSample
from bot.domain.metric_history import PROFILED
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.response.diagnosis.metric_history import with_past
from bot.response.diagnosis.scheduler import Diagnose
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sources.prometheus import PrometheusHistory
    from bot.sources.pyroscope import PyroscopeHistory


def profiled_by(settings: Settings, nodes: Iterable[Node]) -> PyroscopeHistory | None:
    """Return the configured Pyroscope, or None.

    Raises: SettingsError when PYROSCOPE_URL is not an address.
    """
    set_up = settings.pyroscope
    if not set_up.url:
        return None
    check_base("PYROSCOPE_URL", set_up.url)
    from bot.sources.pyroscope import PyroscopeHistory

    return PyroscopeHistory(set_up.url, nodes, set_up.label, set_up.profile, set_up.tenant)


def check_base(variable: str, url: str) -> None:
    """Raises: SettingsError, naming the variable, when it is not an address."""
    try:
        parts = urlsplit(url)
        is_base = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_base = False
    if not is_base:
        service = variable.partition("_")[0].lower()
        raise SettingsError(f"{variable} is not an address.", f"Write its base: {variable}=https://{service}.example")


def history_of(settings: Settings, nodes: Iterable[Node]) -> PrometheusHistory | None:
    """Return the source of these nodes' past; None where no Prometheus is set.

    Raises: SettingsError when PROMETHEUS_URL is not an address.
    """
    if not (url := settings.prometheus_url):
        return None
    check_base("PROMETHEUS_URL", url)
    from bot.sources.prometheus import PrometheusHistory

    return PrometheusHistory(url, nodes)


@dataclass(frozen=True, slots=True)
class InventoryHistory:
    """Earlier counts of the inventory's nodes, from Prometheus."""

    history: PrometheusHistory
    known: Inventory

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return them; none for a node that is gone. Raises: CannotRead."""
        if not self.known.knows(node):
            return ()
        return await self.history.counted(self.known.find(node), cause, until)


def with_history(diagnose: Diagnose, settings: Settings, known: Inventory) -> tuple[Diagnose, PrometheusHistory | None]:
    """Return a diagnosis with the past, and its Prometheus; without Prometheus the diagnosis is unchanged.

    Raises: SettingsError when PROMETHEUS_URL or PYROSCOPE_URL is not an address.
    """
    history = history_of(settings, known.nodes)
    if (profiled := profiled_by(settings, known.nodes)) is not None:
        diagnose = with_past(diagnose, profiled, now, PROFILED)
    return (diagnose, None) if history is None else (with_past(diagnose, history, now), history)
