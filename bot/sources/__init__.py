"""Where alerts come from: each source proves where a request comes from, and reads what it says. They touch nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.errors import MalformedDelivery, UsageError
from bot.domain.nearest import did_you_mean
from bot.sources import alertmanager, grafana, pagerduty
from bot.sources.body import read_body
from bot.sources.source import Source, Told

SOURCES: tuple[Source, ...] = (pagerduty.SOURCE, alertmanager.SOURCE, grafana.SOURCE)


def settings_of(sources: Sequence[Source] = SOURCES) -> Mapping[str, type[Any]]:
    """Return what the settings have to know of these sources: each one's own, by its name."""
    return {source.name: source.settings for source in sources}


def told_by(raw: bytes, name: str | None = None, sources: Sequence[Source] = SOURCES) -> Told:
    """Return what a body tells, read by the source of that name, or else by the one that recognises it.

    Raises: MalformedDelivery when it is no body of a source's; UsageError when no source is called so.
    """
    names = [source.name for source in sources]
    if name and name not in names:
        raise UsageError(f'No source is called "{name}". {did_you_mean(name, names)}')
    body = read_body(raw)
    source = next((found for found in sources if (found.name == name if name else found.recognises(body))), None)
    if source is None:
        raise MalformedDelivery("It is like no source's: --source says whose it is.")
    return source.told(body)
