"""Earlier profiles of nodes, from the Pyroscope at PYROSCOPE_URL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.app.web_base import checked_base
from bot.domain.node import Node
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.sources.pyroscope import PyroscopeHistory


def profiled_by(settings: Settings, nodes: Iterable[Node]) -> PyroscopeHistory | None:
    """Return the configured Pyroscope, or None.

    Raises: SettingsError when PYROSCOPE_URL is not an address.
    """
    set_up = settings.pyroscope
    if not set_up.url:
        return None
    checked_base("PYROSCOPE_URL", set_up.url)
    from bot.sources.pyroscope import PyroscopeHistory

    return PyroscopeHistory(set_up.url, nodes, set_up.label, set_up.profile, set_up.tenant)
