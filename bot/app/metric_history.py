"""The past of nodes, from PROMETHEUS_URL and PYROSCOPE_URL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.app.parts import now
from bot.app.profile_history import profiled_by
from bot.app.web_base import checked_base
from bot.domain.growth import CountSample
from bot.domain.metric_history import PROFILED
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.response.diagnosis.metric_history import with_past
from bot.response.diagnosis.scheduler import Diagnose
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sources.prometheus import PrometheusHistory


def history_of(settings: Settings, nodes: Iterable[Node]) -> PrometheusHistory | None:
    """Return the source of these nodes' past; None where no Prometheus is set.

    Raises: SettingsError when PROMETHEUS_URL is not an address.
    """
    url = settings.prometheus_url
    if not url:
        return None
    checked_base("PROMETHEUS_URL", url)
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


def history_counts(history: PrometheusHistory | None, known: Inventory) -> InventoryHistory | None:
    """Return the source of these nodes' earlier counts; None where no Prometheus is set."""
    return None if history is None else InventoryHistory(history, known)
