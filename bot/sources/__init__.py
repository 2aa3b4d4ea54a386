"""Where alerts come from: each source proves where a request comes from, and reads what it says. They touch nothing."""

from collections.abc import Mapping
from typing import Any

from bot.sources import alertmanager, grafana, pagerduty
from bot.sources.source import Source

SOURCES: tuple[Source, ...] = (pagerduty.SOURCE, alertmanager.SOURCE, grafana.SOURCE)


def settings_of(sources: tuple[Source, ...] = SOURCES) -> Mapping[str, type[Any]]:
    """Return what the settings have to know of these sources: each one's own, by its name."""
    return {source.name: source.settings for source in sources}
