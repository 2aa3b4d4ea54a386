"""Sources of alerts: each verifies and parses requests, without side effects."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.errors import MalformedDelivery, UsageError
from bot.domain.nearest import did_you_mean
from bot.sources import alertmanager, grafana, pagerduty
from bot.sources.body import read_body
from bot.sources.source import ParsedFile, Source

SOURCES: tuple[Source, ...] = (pagerduty.SOURCE, alertmanager.SOURCE, grafana.SOURCE)


def settings_of(sources: Sequence[Source] = SOURCES) -> Mapping[str, type[Any]]:
    """Return the settings class of each source, by the source's name."""
    return {source.name: source.settings for source in sources}


def parse_file(raw: bytes, name: str | None = None, sources: Sequence[Source] = SOURCES) -> ParsedFile:
    """Return the contents of a body, parsed by the source of that name, or else by the source that recognises it.

    Raises: MalformedDelivery when it is not a source's body; UsageError when no source has that name.
    """
    names = [source.name for source in sources]
    if name and name not in names:
        raise UsageError(f'No source is called "{name}". {did_you_mean(name, names)}')
    body = read_body(raw)
    source = next((found for found in sources if (found.name == name if name else found.recognises(body))), None)
    if source is None:
        raise MalformedDelivery("No source recognises it: name its source with --source.")
    return source.parsed(body)
