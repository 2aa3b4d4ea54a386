"""The past of nodes, where PROMETHEUS_URL says who kept it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from bot.app.parts import now
from bot.domain.errors import SettingsError
from bot.inventory import Inventory
from bot.response.checks import Diagnose
from bot.response.with_past import with_past
from bot.settings import Settings


async def _nothing_to_close() -> None:
    pass


def informed(
    diagnose: Diagnose, settings: Settings, known: Inventory
) -> tuple[Diagnose, Callable[[], Awaitable[None]]]:
    """Return a diagnosis that knows the past, and how to hang up; where no Prometheus is set, the same as before.

    Raises: SettingsError when PROMETHEUS_URL is no address.
    """
    url = str(settings.get("prometheus_url") or "")
    if not url:
        return diagnose, _nothing_to_close
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

    past = PrometheusPast(url, known.nodes)
    return with_past(diagnose, past, now), past.close
