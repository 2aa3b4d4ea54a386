"""The past of nodes, where PROMETHEUS_URL says who kept it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.app.parts import now
from bot.domain.errors import SettingsError
from bot.domain.growth import Look
from bot.domain.node import Node
from bot.inventory import Inventory
from bot.response.diagnosis.metric_history import with_past
from bot.response.diagnosis.scheduler import Diagnose
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sources.prometheus import PrometheusPast


def past_of(settings: Settings, nodes: Iterable[Node]) -> PrometheusPast | None:
    """Return whoever knows the past of these nodes, None where no Prometheus is set.

    Raises: SettingsError when PROMETHEUS_URL is no address.
    """
    url = settings.prometheus_url
    if not url:
        return None
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_address = False
    if not is_address:
        raise SettingsError(
            "PROMETHEUS_URL is no address.", "Write its base: PROMETHEUS_URL=https://prometheus.example"
        )
    from bot.sources.prometheus import PrometheusPast

    return PrometheusPast(url, nodes)


@dataclass(frozen=True, slots=True)
class KnownPast:
    """What was counted on nodes of the inventory, as Prometheus kept it."""

    past: PrometheusPast
    known: Inventory

    async def counted(self, node: str, cause: str, until: datetime) -> tuple[Look, ...]:
        """Return it, none for a node that is not known any more. Raises: CannotRead."""
        if not self.known.knows(node):
            return ()
        return await self.past.counted(self.known.find(node), cause, until)


def informed(diagnose: Diagnose, settings: Settings, known: Inventory) -> tuple[Diagnose, PrometheusPast | None]:
    """Return a diagnosis that knows the past, and who tells it; where no Prometheus is set, the same as before.

    Raises: SettingsError when PROMETHEUS_URL is no address.
    """
    past = past_of(settings, known.nodes)
    return (diagnose, None) if past is None else (with_past(diagnose, past, now), past)


def told_before(past: PrometheusPast | None, known: Inventory) -> KnownPast | None:
    """Return who knows what was counted on these nodes before; None where no Prometheus is set."""
    return None if past is None else KnownPast(past, known)
