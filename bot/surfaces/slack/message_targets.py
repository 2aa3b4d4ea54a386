"""Where in Slack an incident's card belongs, as its record says."""

from __future__ import annotations

from bot.domain.incident import Incident
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.part import MessageTarget
from bot.surfaces.view.view import is_alarm


def request_id(channel: str, thread_ts: str, key: str) -> str:
    """Return the name of somebody's request on record: it says where its card belongs."""
    return f"{channel}/{thread_ts or '-'}/{key}"


def spot_of(incident: Incident) -> MessageTarget | None:
    """Return where an incident's card belongs; None where it has none: it came in a storm, or no channel is set."""
    if incident.alert.kind == SLACK:
        channel, _, rest = incident.alert.id.partition("/")
        thread = rest.partition("/")[0]
        return MessageTarget(channel, "" if thread == "-" else thread) if rest else None
    if not is_alarm(incident.alert) or incident.storm or not incident.channel:
        return None
    return MessageTarget(incident.channel, patient=True)
